package serve

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// A lease lapses unless it is renewed in time. It is counted in parts: while the machine stands still, or is too busy
// to run this process, the harness cannot renew it either, and such a time counts as no more than one part.
//
// The harness can also stand still alone. The kernel closes the connections of a process that was killed, so as long
// as there is one, the harness is taken to be alive for up to standstill after its last renewal.
type lease struct {
	part    time.Duration
	after   func(time.Duration) <-chan time.Time
	renewed chan struct{}

	connections atomic.Int64
}

const (
	// leaseParts is how many parts a lease has.
	leaseParts = 16
	// standstill is how long a lease that is not renewed lasts while there are connections.
	standstill = time.Minute
)

func newLease(length time.Duration) *lease {
	return &lease{part: length / leaseParts, after: time.After, renewed: make(chan struct{}, 1)}
}

// renew never blocks.
func (l *lease) renew() {
	select {
	case l.renewed <- struct{}{}:
	default:
	}
}

// connection counts the connections of a [http.Server], as its ConnState.
func (l *lease) connection(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		l.connections.Add(1)
	case http.StateClosed, http.StateHijacked:
		l.connections.Add(-1)
	}
}

// lapsed waits until the lease has lapsed (true) or ctx ends (false).
func (l *lease) lapsed(ctx context.Context) bool {
	most := max(leaseParts, int(standstill/l.part))
	over := l.after(l.part)
	for passed := 0; ; over = l.after(l.part) {
		select {
		case <-l.renewed:
			passed = 0
		case <-over:
			passed++
			if passed >= most || passed >= leaseParts && l.connections.Load() == 0 {
				return true
			}
		case <-ctx.Done():
			return false
		}
	}
}
