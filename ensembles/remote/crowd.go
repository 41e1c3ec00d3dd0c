package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"locklab/recipes/zkproto"
)

// crowdCap bounds how long a trial of connections may take.
const crowdCap = 2 * time.Second

// Crowd opens n connections to a server at once, at least one, and returns how many of them it takes. A server closes
// those beyond what it takes from one address (maxClientCnxns) as soon as it has accepted them. It may take a few more
// than that. An error wraps [ErrUnusable].
func (a *Access) Crowd(ctx context.Context, server string, n int) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, crowdCap)
	defer cancel()
	conns := make([]net.Conn, n-1)
	var dialling errgroup.Group
	dialling.SetLimit(4) // a server counts a connection a moment after it has accepted it, and so takes a few too many
	for i := range conns {
		// A server decides about a connection before it expects anything over it, TLS included.
		dialling.Go(func() error {
			conns[i], _ = new(net.Dialer).DialContext(ctx, "tcp", server)
			return nil
		})
	}
	_ = dialling.Wait() // none returns an error
	// A server accepts in turn. Once it has answered the last connection, or closed it, it has decided about all others.
	_, last := a.handshake(ctx, server, zkproto.Hello{Timeout: time.Millisecond}, true)
	var taken atomic.Int64
	var looking sync.WaitGroup
	for _, c := range conns {
		if c != nil {
			looking.Go(func() {
				defer c.Close()
				if stays(c) {
					taken.Add(1)
				}
			})
		}
	}
	looking.Wait()
	if ctx.Err() != nil {
		return 0, fmt.Errorf("%w: %s did not take %d connections within %v; use fewer clients, or let several share a "+
			"session with --clients-per-session", ErrUnusable, server, n, crowdCap)
	}
	if last == nil {
		taken.Add(1)
	}
	return int(taken.Load()), nil
}

// stays reports whether the other end has not closed a connection over which it says nothing.
func stays(c net.Conn) bool {
	const moment = 20 * time.Millisecond
	_ = c.SetReadDeadline(time.Now().Add(moment))
	_, err := c.Read(make([]byte, 1))
	return errors.Is(err, os.ErrDeadlineExceeded)
}
