package client

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"locklab/harness/history"
	"locklab/recipes"
	"locklab/recipes/broken"
)

// brokenPrefix begins the names of the locks of package broken.
const brokenPrefix = "broken-"

// withBroken adds them to the openers.
func withBroken(all map[string]opener) map[string]opener {
	all = maps.Clone(all)
	for name, lock := range broken.Locks {
		all[brokenPrefix+name] = openBroken(lock)
	}
	return all
}

// brokenSource is a client of package broken, with its locks. It makes itself another session when one has
// expired.
type brokenSource struct {
	*broken.Client
	locks map[string]broken.Ways
	at    func(path string) broken.Ways
}

func openBroken(lock broken.Lock) opener {
	return func(ctx context.Context, c *client) (source, error) {
		cfg := &c.p.cfg
		conn, err := broken.Connect(ctx, broken.ClientConfig{Servers: cfg.serversFor(c.number), Timeout: cfg.SessionTimeout, Dial: c.session.link.dial, OnState: c.state, Logger: c.p.log})
		if err != nil {
			return nil, err
		}
		b := brokenSource{Client: conn, locks: map[string]broken.Ways{}}
		b.at = func(path string) broken.Ways {
			ways, ok := b.locks[path]
			if !ok {
				ways = lock.New(broken.Config{Client: conn, Path: path, Permits: cfg.Permits, Units: cfg.Units, OnQueued: func(ahead int) { c.queued(path, ahead) }})
				b.locks[path] = ways
			}
			return ways
		}
		return b, nil
	}
}

func (b brokenSource) acquire(ctx context.Context, w want) (*grant, error) {
	ways := b.at(w.paths[0])
	l := modal{write: ways.Write, read: ways.Read, permits: ways.Permits}.in(w.mode)
	if l == nil {
		return nil, fmt.Errorf("the recipe has no mode %q", w.mode)
	}
	h, err := l.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	g := single(w.paths[0], w.mode, h)
	g.release = func(ctx context.Context) error {
		// A downgrade has released the write hold, and nothing is left to do.
		if err := h.Release(ctx); !errors.Is(err, recipes.ErrReleased) {
			return err
		}
		return nil
	}
	return g, nil
}

func (b brokenSource) downgrade(ctx context.Context, write *grant) (*grant, error) {
	p := write.parts[0]
	under := b.at(p.lock).Downgrade
	if under == nil {
		return nil, errNoDowngrade
	}
	h, err := under(ctx, p.hold)
	if err != nil {
		return nil, err
	}
	return single(p.lock, history.ModeRead, h), nil
}
