package client

import (
	"context"
	"errors"
	"net"
	"testing"
)

// A client that has died has lost its connection and makes no other, and the client that comes after it does.
func TestDie(t *testing.T) {
	l := &link{connect: func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		t.Cleanup(func() { _ = far.Close() })
		return near, nil
	}}
	dial, alive := l.live()
	conn, err := dial(t.Context(), "tcp", "zk1:2181")
	if err != nil || !alive() {
		t.Fatalf("alive: %t, %v", alive(), err)
	}
	l.die()
	if _, err := conn.Read(make([]byte, 1)); err == nil || alive() {
		t.Errorf("after its death: alive: %t, %v", alive(), err)
	}
	if _, err := dial(t.Context(), "tcp", "zk1:2181"); !errors.Is(err, errDied) {
		t.Errorf("a dial after its death: %v", err)
	}
	again, alive := l.live()
	if _, err := again(t.Context(), "tcp", "zk1:2181"); err != nil || !alive() {
		t.Errorf("the next client: alive: %t, %v", alive(), err)
	}
}
