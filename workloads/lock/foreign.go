package lock

import (
	"context"

	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/history"
	"locklab/recipes"
	"locklab/workloads"
	"locklab/workloads/foreign"
)

// Command returns the recipe of a lock's own command, which may be anything behind the lock protocol. Nothing is known
// of its znodes but the layout that somebody declares; empty = nobody does.
func Command(name string, layout nodes.Layout) Recipe {
	r := Recipe{
		Name:      name,
		About:     "[Your own lock](../workloads/README.md#locks-in-other-languages), in any language.",
		Workloads: workloads.All,
		Layout:    layout,
		Promises: Promises{Exclusive: true, MayToken: true, Several: true, Downgrade: true, Queue: layout.Queues(),
			Unchecked: byCommand},
		Needs: Needs{Foreign: true},
	}
	switch layout {
	case nodes.LayoutZnode:
		r.Seen = SeenNode
	case nodes.LayoutSemaphore:
		r.Seen = SeenNot
	}
	return r
}

// Fits reports whether clients of a workload can contend by znodes of that layout. A semaphore needs one that lets in
// several clients at once.
func Fits(layout nodes.Layout, workload string) bool {
	return workload != workloads.Semaphore || layout == nodes.LayoutSemaphore
}

// A commandSource is a session of a lock's command.
type commandSource struct {
	*foreign.Session
	c Client
}

// openForeign makes the lock's command open a session.
func openForeign(ctx context.Context, c Client) (Source, error) {
	s, err := c.Driver.Open(ctx,
		foreign.SessionConfig{Servers: c.Servers, Timeout: c.Timeout, Paths: c.Locks, OnState: c.OnState})
	if err != nil {
		return nil, err
	}
	return commandSource{s, c}, nil
}

// Acquire implements [Source].
func (f commandSource) Acquire(ctx context.Context, w Want) (*Grant, error) {
	cfg := foreign.LockConfig{Paths: w.Paths, Try: f.c.Try}
	switch w.Mode {
	case history.ModeRead:
		cfg.Mode = foreign.Read
	case history.ModeWrite:
		cfg.Mode = foreign.Write
	case history.ModePermit:
		cfg.Mode = foreign.Permits(w.Units, f.c.Permits)
	}
	if len(w.Paths) == 1 { // for several locks, a command does not say in which queue it waits
		cfg.OnQueued = func(ahead int) { f.c.Queued(w.Paths[0], ahead) }
	}
	h, err := f.Lock(cfg).Acquire(ctx)
	if err != nil {
		return nil, err
	}
	if len(w.Paths) == 1 {
		return Single(w.Paths[0], w.Mode, h), nil
	}
	return together(w.Paths, h), nil
}

func together(paths []string, h *recipes.Hold) *Grant {
	g := &Grant{Release: h.Release}
	tokens := foreign.GrantOf(h).Tokens
	for i, path := range paths {
		p := Part{Lock: path, Hold: h}
		if len(tokens) > 0 {
			p.Token, p.Use = tokens[i], tokens[i]
		}
		g.Parts = append(g.Parts, p)
	}
	return g
}

// Downgrade implements [Downgrader].
func (f commandSource) Downgrade(ctx context.Context, write *Grant) (*Grant, error) {
	h, err := f.Session.Downgrade(ctx, write.Parts[0].Hold)
	if err != nil {
		return nil, err
	}
	return Single(write.Parts[0].Lock, history.ModeRead, h), nil
}
