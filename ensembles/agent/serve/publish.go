package serve

import (
	"context"
	"io"
	"net"
	"sync"
)

// publish passes the connections that l accepts on to the host's ZooKeeper server, which dial connects to, until ctx
// ends. It closes l.
func publish(ctx context.Context, l net.Listener, dial dialer) {
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	var open sync.WaitGroup
	defer open.Wait()
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		open.Go(func() { pass(ctx, client, dial) })
	}
}

// pass joins a connection to the host's ZooKeeper server. If one side ends the connection, so does the other.
func pass(ctx context.Context, client net.Conn, dial dialer) {
	defer client.Close()
	server, err := dial(ctx)
	if err != nil {
		return // a client of a server that does not run is refused
	}
	defer server.Close()
	stop := context.AfterFunc(ctx, func() { client.Close(); server.Close() })
	defer stop()
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{client, server}, {server, client}} {
		both.Go(func() {
			_, _ = io.Copy(way[0], way[1])
			way[0].Close()
			way[1].Close()
		})
	}
	both.Wait()
}
