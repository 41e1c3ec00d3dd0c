package zksession

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// A scripted server speaks just enough of ZooKeeper's protocol to grant a session. The test chooses the
// answers to requests, so that the server can do what a real one does only in rare moments.
type scripted struct {
	address string
	// answer returns the code and the body of the answer to a request, or false to break the connection instead. It
	// runs in the goroutine of the connection.
	answer func(op int32, body []byte) (code int32, reply []byte, ok bool)
	// refuse, if set, breaks the connections whose connect request it gets, from 1.
	refuse func(connect int) bool
	// ahead is how many requests of a connection have to be there before the first is answered.
	ahead int

	mu       sync.Mutex
	connects int
	requests int
	closed   bool // the session
}

// serve starts a scripted server, which ends with the test.
func serve(t *testing.T, s *scripted) *scripted {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.address = l.Addr().String()
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer conn.Close()
				s.converse(conn)
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		wg.Wait()
	})
	return s
}

// counts returns how many connect requests and other requests have come.
func (s *scripted) counts() (connects, requests int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.connects, s.requests
}

// converse serves one connection. The session's id is 7, and its timeout is what the client asks for.
func (s *scripted) converse(conn net.Conn) {
	connect, err := readFrame(conn)
	if err != nil || len(connect) < 16 {
		return
	}
	s.mu.Lock()
	s.connects++
	n := s.connects
	s.mu.Unlock()
	if s.refuse != nil && s.refuse(n) {
		return
	}
	grant := make([]byte, 4+4+8+4+16)
	copy(grant[4:], connect[12:16])
	binary.BigEndian.PutUint64(grant[8:], 7)
	binary.BigEndian.PutUint32(grant[16:], 16)
	if writeFrame(conn, grant) != nil {
		return
	}
	var early [][]byte
	for range s.ahead {
		request, err := readFrame(conn)
		if err != nil {
			return
		}
		early = append(early, request)
	}
	for {
		var request []byte
		if len(early) > 0 {
			request, early = early[0], early[1:]
		} else if request, err = readFrame(conn); err != nil {
			return
		}
		xid, op := binary.BigEndian.Uint32(request), int32(binary.BigEndian.Uint32(request[4:]))
		code, body, ok := int32(0), []byte(nil), true
		if int32(xid) >= 0 {
			s.mu.Lock()
			s.requests++
			s.closed = s.closed || op == opClose
			s.mu.Unlock()
			if op != opClose {
				code, body, ok = s.answer(op, request[8:])
			}
		}
		if !ok {
			return
		}
		header := make([]byte, 16, 16+len(body))
		binary.BigEndian.PutUint32(header, xid)
		binary.BigEndian.PutUint64(header[4:], 1)
		binary.BigEndian.PutUint32(header[12:], uint32(code))
		if writeFrame(conn, append(header, body...)) != nil {
			return
		}
	}
}

// The codes of the requests that tests tell apart.
const (
	opGet   = 4
	opClose = -11
)

func readFrame(r io.Reader) ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, err
	}
	frame := make([]byte, binary.BigEndian.Uint32(length[:]))
	_, err := io.ReadFull(r, frame)
	return frame, err
}

func writeFrame(w io.Writer, frame []byte) error {
	_, err := w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame...))
	return err
}

// toScripted connects to a scripted server.
func toScripted(t *testing.T, s *scripted, cfg Config) *connection {
	t.Helper()
	cfg.Servers = []string{s.address}
	if cfg.Timeout == 0 {
		cfg.Timeout = 20 * time.Second
	}
	z, err := Connect(within(t), cfg)
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, func(ctx context.Context) error {
		if err := z.Close(ctx); !errors.Is(err, ErrConnectionLoss) { // the server may have broken the connection
			return err
		}
		return nil
	})
	return z.(*connection)
}
