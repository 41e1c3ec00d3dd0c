package remote

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"locklab/recipes/zksession"
)

// A Pinger measures how long a client of one server waits for a write, by writes of its own below the run's path. It is
// not for concurrent use.
type Pinger struct {
	path    *Path
	server  string
	prefix  string // of its znodes
	pings   int
	session zksession.ZooKeeper // nil before the first ping, and after one without a session
}

// A Ping is a write that a server answered.
type Ping struct {
	Node string // the znode that was made, and is gone
	Sent time.Time
	Took time.Duration
}

// Pinger returns a pinger of the ensemble's i-th server.
func (p *Path) Pinger(i int) *Pinger {
	return &Pinger{path: p, server: p.access.Servers[i], prefix: fmt.Sprintf("%s/ping%d-", p.Name, i+1)}
}

// Ping makes a write through the server. The first ping also opens a session, whose creation is a write too.
func (p *Pinger) Ping(ctx context.Context) (Ping, error) {
	if p.session == nil || p.session.Err() != nil {
		var err error
		p.session, err = p.path.access.Session(ctx, liveTimeout, slog.New(slog.DiscardHandler), p.server)
		if err != nil {
			p.session = nil
			return Ping{}, err
		}
	}
	p.pings++
	ping := Ping{Node: p.prefix + strconv.Itoa(p.pings), Sent: time.Now()}
	if _, err := p.session.Create(ctx, ping.Node, nil, zksession.Ephemeral); err != nil {
		return Ping{}, err // if it is done later, the znode ends with the session
	}
	ping.Took = time.Since(ping.Sent)
	return ping, p.session.Delete(ctx, ping.Node)
}

// Close ends the pinger's session.
func (p *Pinger) Close(ctx context.Context) error {
	if p.session == nil {
		return nil
	}
	return p.session.Close(ctx)
}
