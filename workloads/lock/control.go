package lock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"locklab/harness/history"
	"locklab/recipes"
	"locklab/recipes/broken"
	"locklab/recipes/zksession"
	"locklab/workloads"
)

// withControls adds the controls to the table: the locks of package broken. A control promises what its sound recipe
// promises, so that each of its failures is a finding.
func withControls(all []Recipe) []Recipe {
	for _, l := range broken.Locks {
		i := slices.IndexFunc(all, func(r Recipe) bool { return r.Name == l.Sound })
		all = append(all, control(l, all[i]))
	}
	return all
}

// Of returns the name of the recipe that shows a known bug.
func Of(bug broken.Lock) string { return cmp.Or(bug.Recipe, ControlPrefix+bug.Name) }

// control returns the recipe of a lock with a known bug, which stands in for the sound recipe.
func control(l broken.Lock, sound Recipe) Recipe {
	r := sound
	r.Name, r.About, r.Control, r.Bug = ControlPrefix+l.Name, "", true, l.Bug
	// Its holds do not name their znodes, and have no lease clock. Several of them cannot be held as one.
	r.Unchecked, r.Clock = "has no znode to check", false
	r.Workloads = slices.DeleteFunc(slices.Clone(r.Workloads), func(w string) bool { return w == workloads.MultiLock })
	if l.Decorate != nil {
		r.Open = inSession(decorated(l.Decorate))
		return r
	}
	r.Resizes, r.OwnConnection, r.Anonymous = false, true, true
	r.Downgrade = l.New(broken.Config{}).Downgrade != nil
	r.Tokens = r.Tokens && !l.NoToken
	r.Open = openPlain(l)
	if l.OneByOne {
		r.Tokens, r.Slots, r.Queue, r.OneByOne = false, false, false, true
	}
	return r
}

// decorated returns a maker of mutexes that a decorator wraps.
func decorated(decorate func(*recipes.Mutex) recipes.TryLock) maker {
	return func(s *recipes.Session, path string, _ *Client, queued func(int)) (modes, error) {
		l, err := recipes.NewMutex(recipes.MutexConfig{Session: s, Path: path, OnQueued: queued})
		if err != nil {
			return modes{}, err
		}
		return modes{write: decorate(l)}, nil
	}
}

// A plain source is a client of package broken with its locks. The client makes another session when one has expired.
type plain struct {
	*zksession.Plain
	at func(path string) broken.Ways
}

func openPlain(l broken.Lock) Opener {
	return func(ctx context.Context, c Client) (Source, error) {
		conn, err := l.Connect(ctx, c.Config)
		if err != nil {
			return nil, err
		}
		locks := map[string]broken.Ways{}
		return plain{conn, func(path string) broken.Ways {
			ways, ok := locks[path]
			if !ok {
				ways = l.New(broken.Config{Client: conn, Path: path, Permits: c.Permits, Units: c.Units,
					OnQueued: func(ahead int) { c.Queued(path, ahead) }})
				locks[path] = ways
			}
			return ways
		}}, nil
	}
}

// Acquire implements [Source].
func (p plain) Acquire(ctx context.Context, w Want) (*Grant, error) {
	ways := p.at(w.Paths[0])
	l := modes{write: ways.Write, read: ways.Read, permits: ways.Permits}.in(w.Mode)
	if l == nil {
		return nil, fmt.Errorf("the recipe has no mode %q", w.Mode)
	}
	h, err := l.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	g := Single(w.Paths[0], w.Mode, h)
	g.Release = func(ctx context.Context) error {
		// A downgrade has already released the write hold.
		if err := h.Release(ctx); !errors.Is(err, recipes.ErrReleased) {
			return err
		}
		return nil
	}
	return g, nil
}

// Downgrade implements [Downgrader].
func (p plain) Downgrade(ctx context.Context, write *Grant) (*Grant, error) {
	part := write.Parts[0]
	under := p.at(part.Lock).Downgrade
	if under == nil {
		return nil, ErrNoDowngrade
	}
	h, err := under(ctx, part.Hold)
	if err != nil {
		return nil, err
	}
	return Single(part.Lock, history.ModeRead, h), nil
}
