package zkproto

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"
)

// A Hello is the first request on a connection.
type Hello struct {
	Seen    int64 // the newest transaction that the client has seen
	Timeout time.Duration
	Session int64 // 0 = a new one
	// Password is the session's.
	Password []byte
	// ReadOnly says that the client would be content with a server that has lost its quorum.
	ReadOnly bool
}

// Where a connect request's frame, its length included, has the session and the password.
const (
	HelloSession  = 4 + 4 + 8 + 4
	HelloPassword = HelloSession + 8 + 4
)

// passwordLength is the length of a session's password.
const passwordLength = 16

// ParseHello reads a connect request.
func ParseHello(body []byte) (h Hello, err error) {
	d := &Decoder{B: body}
	d.Int32() // the protocol's version
	h.Seen, h.Timeout = d.Int64(), time.Duration(d.Int32())*time.Millisecond
	h.Session, h.Password = d.Int64(), d.Bytes()
	return h, d.Err
}

// body returns the connect request.
func (h Hello) body() []byte {
	password := h.Password
	if h.Session == 0 {
		password = make([]byte, passwordLength)
	}
	return new(Encoder).Int32(0).Int64(h.Seen).Int32(int32(h.Timeout.Milliseconds())).Int64(h.Session).Bytes(password).
		Bool(h.ReadOnly).B
}

// A Grant is what a server answers to a [Hello].
type Grant struct {
	Session  int64 // 0 = the session asked for has expired
	Timeout  time.Duration
	Password []byte
	// ReadOnly says that the server has lost its quorum.
	ReadOnly bool
}

// ParseGrant reads a connect response. Old servers do not say whether they are read-only.
func ParseGrant(body []byte) (g Grant, err error) {
	d := &Decoder{B: body}
	d.Int32() // the protocol's version
	g.Timeout = time.Duration(d.Int32()) * time.Millisecond
	g.Session, g.Password = d.Int64(), d.Bytes()
	if d.Err == nil && g.Password == nil { // its length is negative
		return g, ErrShort
	}
	g.ReadOnly = len(d.B) > 0 && d.B[0] != 0
	return g, d.Err
}

// Frame returns the connect response. A session of 0 says that the one asked for is over.
func (g Grant) Frame() []byte {
	password := g.Password
	if g.Session == 0 {
		password = make([]byte, passwordLength)
	}
	return Frame(new(Encoder).Int32(0).Int32(int32(g.Timeout.Milliseconds())).Int64(g.Session).Bytes(password).B)
}

// Frame returns a frame with a body.
func Frame(body []byte) []byte {
	return append(binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(body)), uint32(len(body))), body...)
}

// ReadFrame reads the body of a frame of at most so many bytes.
func ReadFrame(r io.Reader, most int) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	return ReadBody(r, head, most)
}

// ReadBody reads the body of a frame whose length has been read.
func ReadBody(r io.Reader, head [4]byte, most int) ([]byte, error) {
	n := binary.BigEndian.Uint32(head[:])
	if int64(n) > int64(most) {
		return nil, fmt.Errorf("a frame of %d bytes is longer than the limit of %d", n, most)
	}
	body := make([]byte, n)
	_, err := io.ReadFull(r, body)
	return body, err
}

// mostAnswer is more than any answer to a connect or close request has.
const mostAnswer = 1 << 10

// Connect asks for a session on a fresh connection. [Grant.Session] is 0 if the session asked for has expired.
func Connect(conn io.ReadWriter, h Hello) (Grant, error) {
	answer, err := exchange(conn, h.body())
	if err != nil {
		return Grant{}, err
	}
	return ParseGrant(answer)
}

// Close ends the connection's session.
func Close(conn io.ReadWriter) error {
	answer, err := exchange(conn, new(Encoder).Int32(1).Int32(OpClose).B)
	if err != nil {
		return err
	}
	d := &Decoder{B: answer}
	d.Int32()
	d.Int64()
	if code := d.Int32(); d.Err != nil || code != CodeOK {
		return fmt.Errorf("the server did not close the session: code %d", code)
	}
	return nil
}

// End ends a session by way of a fresh connection, which takes the session over and closes it. That it exists no more
// is no error. The client that has the session may take it back in between; that is one.
func End(conn net.Conn, g Grant) error {
	got, err := Connect(conn, Hello{Timeout: g.Timeout, Session: g.Session, Password: g.Password})
	if err != nil || got.Session != g.Session {
		return err
	}
	return Close(conn)
}

// exchange sends a frame and reads the one that answers it.
func exchange(conn io.ReadWriter, body []byte) ([]byte, error) {
	if _, err := conn.Write(Frame(body)); err != nil {
		return nil, err
	}
	return ReadFrame(conn, mostAnswer)
}
