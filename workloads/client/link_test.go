package client

import (
	"context"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"locklab/recipes/zkproto"
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

// A session is ended although no server lets anybody in for seconds, as while they choose a leader. It is given up if
// that goes on.
func TestExpireOutlastsAnElection(t *testing.T) {
	for _, c := range []struct {
		election time.Duration
		ended    bool
	}{{4 * time.Second, true}, {time.Minute, false}} {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			asked := false
			l := &link{granted: zkproto.Grant{Session: 1}, connect: func(context.Context, string, string) (net.Conn, error) {
				if time.Since(begun) < c.election {
					return nil, syscall.ECONNREFUSED
				}
				near, far := net.Pipe()
				go func() {
					defer far.Close()
					if _, err := zkproto.ReadFrame(far, 1<<10); err != nil && !errors.Is(err, io.EOF) {
						t.Error(err)
					}
					asked = true
					_, _ = far.Write(zkproto.Grant{}.Frame()) // the session exists no more
				}()
				return near, nil
			}}
			err := l.expire(t.Context(), []string{"zk1:2181", "zk2:2181"})
			took := time.Since(begun)
			if (err == nil) != c.ended || asked != c.ended || took < min(c.election, expireCap) || took > expireCap+attemptCap {
				t.Errorf("an election of %s: asked: %t, %v after %s", c.election, asked, err, took)
			}
			synctest.Wait()
		})
	}
}
