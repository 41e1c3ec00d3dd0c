package reach

import (
	"context"
	"io"
	"net"
	"sync"
)

// Relay hands each connection that l accepts to pass, in a goroutine of its own, until ctx ends, and returns when all
// of them have returned. It closes l when ctx ends, and a connection when ctx ends or pass returns.
func Relay(ctx context.Context, l net.Listener, pass func(context.Context, net.Conn)) {
	defer context.AfterFunc(ctx, func() { l.Close() })()
	var open sync.WaitGroup
	defer open.Wait()
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		open.Go(func() {
			defer Until(ctx, c)()
			pass(ctx, c)
		})
	}
}

// Until closes a connection when ctx ends, or when the function that it returns is called.
func Until(ctx context.Context, c io.Closer) (end func()) {
	stop := context.AfterFunc(ctx, func() { c.Close() })
	return func() {
		stop()
		c.Close()
	}
}

// Join passes on what arrives from each of two connections to the other, until one of them ends, and closes both.
func Join(a, b io.ReadWriteCloser) {
	var both sync.WaitGroup
	for _, way := range [][2]io.ReadWriteCloser{{a, b}, {b, a}} {
		both.Go(func() {
			_, _ = io.Copy(way[0], way[1])
			way[0].Close()
			way[1].Close()
		})
	}
	both.Wait()
}
