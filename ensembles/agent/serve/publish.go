package serve

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"

	"locklab/ensembles/agent"
)

// publish passes the connections that l accepts on to the host's ZooKeeper server, until ctx ends. It closes l.
func publish(ctx context.Context, l net.Listener) {
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	var open sync.WaitGroup
	defer open.Wait()
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		open.Go(func() { pass(ctx, client) })
	}
}

// pass joins a connection to the host's ZooKeeper server. If one side ends the connection, so does the other.
func pass(ctx context.Context, client net.Conn) {
	defer client.Close()
	server, err := (&net.Dialer{}).DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", agent.ClientPort))
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
