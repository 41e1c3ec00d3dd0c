package client

import (
	"context"

	"locklab/harness/history"
	"locklab/recipes"
	"locklab/workloads/foreign"
)

// foreignSource is a session of a lock's command.
type foreignSource struct {
	*foreign.Session
	c *client
}

// openForeign has the lock's command make a session.
func openForeign(ctx context.Context, c *client) (source, error) {
	cfg := &c.p.cfg
	s, err := c.p.foreign.Open(ctx, foreign.SessionConfig{Servers: cfg.serversFor(c.number), Timeout: cfg.SessionTimeout, Paths: cfg.Locks, OnState: c.state})
	if err != nil {
		return nil, err
	}
	return foreignSource{s, c}, nil
}

func (f foreignSource) acquire(ctx context.Context, w want) (*grant, error) {
	cfg := foreign.LockConfig{Paths: w.paths}
	switch w.mode {
	case history.ModeRead:
		cfg.Mode = foreign.Read
	case history.ModeWrite:
		cfg.Mode = foreign.Write
	case history.ModePermit:
		cfg.Mode = foreign.Permits(w.units, f.c.p.cfg.Permits)
	}
	if len(w.paths) == 1 { // else it does not say in whose queue
		cfg.OnQueued = func(ahead int) { f.c.triedFor(w.paths[0], ahead) }
	}
	h, err := f.Lock(cfg).Acquire(ctx)
	if err != nil {
		return nil, err
	}
	if len(w.paths) == 1 {
		return single(w.paths[0], w.mode, h), nil
	}
	return together(w.paths, h), nil
}

// together is the grant of several locks by one hold.
func together(paths []string, h *recipes.Hold) *grant {
	g := &grant{release: h.Release}
	tokens := foreign.GrantOf(h).Tokens
	for i, path := range paths {
		p := part{lock: path, hold: h}
		if len(tokens) > 0 {
			p.token, p.use = tokens[i], tokens[i]
		}
		g.parts = append(g.parts, p)
	}
	return g
}

func (f foreignSource) downgrade(ctx context.Context, write *grant) (*grant, error) {
	h, err := f.Downgrade(ctx, write.parts[0].hold)
	if err != nil {
		return nil, err
	}
	return single(write.parts[0].lock, history.ModeRead, h), nil
}
