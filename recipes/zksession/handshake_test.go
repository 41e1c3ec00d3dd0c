package zksession

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"locklab/recipes/zkproto"
)

// connectResponse returns a server's answer to a connect request.
func connectResponse(session int64, timeout time.Duration) []byte {
	b := make([]byte, 4+(4+4+8+4)+16+1)
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	binary.BigEndian.PutUint32(b[8:], uint32(timeout.Milliseconds()))
	binary.BigEndian.PutUint64(b[12:], uint64(session))
	binary.BigEndian.PutUint32(b[20:], 16)
	copy(b[24:], "secret")
	return b
}

// When a server gives the client another session, the connection is closed before go-zookeeper hears of that. It would
// send what was queued under the old session.
func TestAnotherSessionBreaksTheConnection(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close()
	c := &connection{done: make(chan struct{}), end: func() {}, changes: newChanges(nil),
		granted: zkproto.Grant{Session: 1}}
	socket, err := newHandshakeConn(near, time.Now().Add(time.Minute), c.grant)
	if err != nil {
		t.Fatal(err)
	}
	c.socket = socket
	sent := make(chan error, 1)
	go func() {
		_, err := far.Write(connectResponse(2, time.Second))
		sent <- err
	}()
	answer := make([]byte, len(connectResponse(2, time.Second)))
	if _, err := io.ReadFull(socket, answer); err != nil {
		t.Fatal(err)
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
	if _, err := socket.Write([]byte("queued")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("what was queued was sent: %v", err)
	}
	if !errors.Is(c.err, ErrSessionExpired) {
		t.Errorf("the session ended with %v", c.err)
	}
}

// The answer is parsed in pieces of any size, before its last byte is read.
func TestHandshakeIsSniffed(t *testing.T) {
	response := connectResponse(0x1234, 4*time.Second)
	for size := 1; size <= len(response); size++ {
		client, server := net.Pipe()
		var got zkproto.Grant
		c, err := newHandshakeConn(client, time.Now().Add(testTimeout), func(h zkproto.Grant) { got = h })
		if err != nil {
			t.Fatal(err)
		}
		written := make(chan error, 1)
		go func() {
			for b := response; len(b) > 0; b = b[min(size, len(b)):] {
				if _, err := server.Write(b[:min(size, len(b))]); err != nil {
					written <- err
					return
				}
			}
			written <- nil
		}()
		if _, err := io.ReadFull(c, make([]byte, len(response))); err != nil {
			t.Fatal(err)
		}
		if got.Session != 0x1234 || got.Timeout != 4*time.Second || string(got.Password[:6]) != "secret" ||
			len(got.Password) != 16 {
			t.Errorf("in pieces of %d: %+v", size, got)
		}
		if err := <-written; err != nil {
			t.Fatal(err)
		}
		_, _ = client.Close(), server.Close()
	}
}

func TestHandshakeDeadlineIsClamped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		defer server.Close()
		defer client.Close()
		start := time.Now()
		c, err := newHandshakeConn(client, start.Add(time.Second), func(zkproto.Grant) {})
		if err != nil {
			t.Fatal(err)
		}
		read := func(what string, want time.Duration) {
			t.Helper()
			start := time.Now()
			if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("%s: %v", what, err)
			}
			if d := time.Since(start); d != want {
				t.Errorf("%s: after %s, want %s", what, d, want)
			}
		}
		_ = c.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		read("an earlier deadline stays", 100*time.Millisecond)
		_ = c.SetReadDeadline(time.Now().Add(time.Hour))
		read("a later deadline is shortened", 900*time.Millisecond)
		_ = c.SetReadDeadline(time.Time{})
		read("without a deadline, ours applies", 0)
		if c.cause() == nil {
			t.Error("the cause of the break is not kept")
		}
	})
}

func TestHandshakeOverLiftsTheClamp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		defer server.Close()
		defer client.Close()
		c, err := newHandshakeConn(client, time.Now().Add(time.Second), func(zkproto.Grant) {})
		if err != nil {
			t.Fatal(err)
		}
		response := connectResponse(1, time.Second)
		go func() { _, _ = server.Write(response) }()
		if _, err := io.ReadFull(c, make([]byte, len(response))); err != nil {
			t.Fatal(err)
		}
		_ = c.SetReadDeadline(time.Now().Add(time.Hour))
		start := time.Now()
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != time.Hour {
			t.Errorf("read: %v after %s", err, time.Since(start))
		}
	})
}

// An answer that says to be longer than any is refused before anybody makes room for it.
func TestLongHandshakeIsRefused(t *testing.T) {
	client, server := net.Pipe()
	defer server.Close()
	var failed error
	c, err := newHandshakeConn(client, time.Now().Add(testTimeout), func(zkproto.Grant) { t.Error("granted") })
	if err != nil {
		t.Fatal(err)
	}
	c.failed = func(err error) { failed = err }
	go func() { _, _ = server.Write([]byte{0x7f, 0xff, 0xff, 0xff}) }()
	if n, err := io.ReadFull(c, make([]byte, 4)); n > 0 || err == nil || err != failed {
		t.Errorf("%d bytes, %v; told of %v", n, err, failed)
	}
}
