package labtest

import (
	"net"
	"testing"
)

// Accept serves each connection that l accepts, until the test ends, and returns the address.
func Accept(t testing.TB, l net.Listener, serve func(net.Conn)) string {
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				serve(c)
			}()
		}
	}()
	return l.Addr().String()
}
