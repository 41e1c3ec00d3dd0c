package client

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"locklab/harness/history"
)

// A link makes the connections of a session. It knows what the servers granted to the session, so the client can do
// to its own session what no other process can: end it, or drive it away from its server.
type link struct {
	connect func(ctx context.Context, network, address string) (net.Conn, error)

	mu      sync.Mutex
	conn    net.Conn // the last one
	address string   // its server
	granted ticket
	refused map[string]string // by fault: the address of a server that is not to be dialled
}

// A ticket is what a server grants to a session that connects.
type ticket struct {
	session  int64
	timeout  uint32 // ms
	password []byte
}

// errKeptAway is the error of a dial to a server that a fault keeps the session away from.
var errKeptAway = errors.New("kept from this server by a fault")

// dial is [recipes.SessionConfig].Dial.
func (l *link) dial(ctx context.Context, network, address string) (net.Conn, error) {
	l.mu.Lock()
	for _, refused := range l.refused {
		if refused == address {
			l.mu.Unlock()
			return nil, errKeptAway
		}
	}
	l.mu.Unlock()
	raw, err := l.connect(ctx, network, address)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conn, l.address = raw, address
	return &linkConn{Conn: raw, link: l}, nil
}

// A linkConn records the first answer that arrives over it: the server's answer to the handshake.
type linkConn struct {
	net.Conn
	link *link
	head []byte // of the answer; by the one goroutine that reads
	seen bool
}

func (c *linkConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if !c.seen {
		c.head = append(c.head, b[:n]...)
		if answer, whole := frameOf(c.head); whole {
			c.link.grant(answer)
			c.seen, c.head = true, nil
		}
	}
	return n, err
}

func (l *link) grant(answer []byte) {
	if t, ok := parseTicket(answer); ok { // of session 0 where the one that it asked for has expired
		l.mu.Lock()
		defer l.mu.Unlock()
		l.granted = t
	}
}

// frameOf returns the frame at the head of b, without its length, and whether it is all there.
func frameOf(b []byte) ([]byte, bool) {
	if len(b) < 4 {
		return nil, false
	}
	n := int(binary.BigEndian.Uint32(b))
	if n < 0 || len(b)-4 < n {
		return nil, false
	}
	return b[4 : 4+n], true
}

// parseTicket reads a connect response: protocol version, timeout, session, password.
func parseTicket(b []byte) (t ticket, ok bool) {
	const fixed = 4 + 4 + 8 + 4
	if len(b) < fixed {
		return t, false
	}
	n := int(int32(binary.BigEndian.Uint32(b[16:])))
	if n < 0 || n > len(b)-fixed {
		return t, false
	}
	return ticket{
		timeout:  binary.BigEndian.Uint32(b[4:]),
		session:  int64(binary.BigEndian.Uint64(b[8:])),
		password: append([]byte(nil), b[fixed:fixed+n]...),
	}, true
}

// now returns the session, and the server of its last connection.
func (l *link) now() (session history.SessionID, server string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return history.SessionID(l.granted.session), l.address
}

// expireCap bounds how long a client tries to end its session, and attemptCap one attempt.
const (
	expireCap  = 5 * time.Second
	attemptCap = 2 * time.Second
)

// expire ends the session at the servers: a second connection takes it over and closes it. The client may take
// it back in between, so it is tried again.
func (l *link) expire(ctx context.Context, servers []string) error {
	l.mu.Lock()
	t, first := l.granted, l.address
	l.mu.Unlock()
	if t.session == 0 {
		return errors.New("expire: the client has no session")
	}
	ctx, cancel := context.WithTimeout(ctx, expireCap)
	defer cancel()
	var errs []error
	for i := 0; ctx.Err() == nil && i < 100; i++ {
		server := first
		if i > 0 {
			server = servers[i%len(servers)]
		}
		err := l.close(ctx, t, server)
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return fmt.Errorf("expire: %w", errors.Join(errs...))
}

// close ends a session by way of a server.
func (l *link) close(ctx context.Context, t ticket, server string) error {
	ctx, cancel := context.WithTimeout(ctx, attemptCap)
	defer cancel()
	conn, err := l.connect(ctx, "tcp", server)
	if err != nil {
		return err
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return err
	}
	// ConnectRequest: protocol version, last zxid seen, timeout, session, password, not read-only.
	connect := make([]byte, 4+8, 64)
	connect = binary.BigEndian.AppendUint32(connect, t.timeout)
	connect = binary.BigEndian.AppendUint64(connect, uint64(t.session))
	connect = binary.BigEndian.AppendUint32(connect, uint32(len(t.password)))
	connect = append(append(connect, t.password...), 0)
	answer, err := exchange(conn, connect)
	if err != nil {
		return err
	}
	if got, ok := parseTicket(answer); !ok || got.session != t.session {
		return nil // the session no longer exists
	}
	// RequestHeader: xid, type.
	const closeSession = -11
	request := binary.BigEndian.AppendUint32([]byte{0, 0, 0, 1}, uint32(0xffffffff&(1<<32+closeSession)))
	answer, err = exchange(conn, request)
	if err == nil && (len(answer) < 16 || binary.BigEndian.Uint32(answer[12:]) != 0) {
		err = fmt.Errorf("%s did not close session %s", server, history.SessionID(t.session))
	}
	return err
}

// exchange sends a frame and reads the one that answers it.
func exchange(conn net.Conn, body []byte) ([]byte, error) {
	if _, err := conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)); err != nil {
		return nil, err
	}
	var length [4]byte
	if _, err := io.ReadFull(conn, length[:]); err != nil {
		return nil, err
	}
	const most = 1 << 10 // neither answer is longer
	n := binary.BigEndian.Uint32(length[:])
	if n > most {
		return nil, fmt.Errorf("an answer of %d bytes", n)
	}
	answer := make([]byte, n)
	_, err := io.ReadFull(conn, answer)
	return answer, err
}

// leave resets the connection and keeps the session away from that server until the fault is settled.
func (l *link) leave(fault string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refused == nil {
		l.refused = map[string]string{}
	}
	l.refused[fault] = l.address
	conn := l.conn
	if secured, ok := conn.(*tls.Conn); ok {
		conn = secured.NetConn()
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // a reset, and not a goodbye
	}
	if conn != nil {
		_ = conn.Close()
	}
}

// settle lets the session return to the server that a fault has driven it from, and returns that server; empty if
// there is none.
func (l *link) settle(fault string) (server string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	server = l.refused[fault]
	delete(l.refused, fault)
	return server
}
