package client

import (
	"context"
	"errors"
	"time"

	"locklab/harness/history"
	"locklab/recipes"
	"locklab/recipes/zksession"
	"locklab/workloads/lock"
)

// resizes reports whether this process changes how many permits there are: one does it for all.
func (c *config) resizes() bool { return c.Resize.Every > 0 && c.First == 0 }

// resize changes the number of permits of every lock back and forth until ctx ends, on a session of its own.
// A change that the servers do not take is made up for by the next.
func (p *process) resize(ctx context.Context, start int64) {
	cfg := &p.cfg
	var s *recipes.Session
	leave := func() {
		if s != nil {
			end, cancel := context.WithTimeout(context.Background(), closeCap)
			defer cancel()
			_ = s.Close(end) // what is left then ends with its session
		}
	}
	defer func() { leave() }()
	for i := int64(1); sleep(ctx, time.Until(p.rec.Clock().Time(start+i*int64(cfg.Resize.Every)))); i++ {
		var err error
		if s == nil || s.Err() != nil {
			leave()
			s, err = recipes.Connect(
				ctx,
				recipes.SessionConfig{
					Config: p.sessionOf(),
				},
			)
		}
		permits := cfg.Permits
		if i%2 == 1 {
			permits = cfg.Resize.To
		}
		if err == nil {
			err = p.setPermits(ctx, s, permits)
		}
		if err != nil && ctx.Err() == nil {
			p.log.Warn("resize", "permits", permits, "err", err)
		}
	}
}

// setPermits sets the number of permits of every lock, and records the call and that it
// worked.
func (p *process) setPermits(ctx context.Context, s *recipes.Session, permits int) error {
	var errs []error
	for _, path := range p.cfg.Locks {
		count, err := lock.Permits(s, path, p.cfg.Permits)
		if err == nil {
			err = p.rec.Record(history.Resizing(path, permits))
		}
		if err == nil {
			err = count.SetCount(ctx, int32(permits))
		}
		if err == nil {
			err = p.rec.Record(history.Resized(path, permits))
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// sessionOf returns the configuration of a session of the process itself.
func (p *process) sessionOf() zksession.Config {
	c := p.cfg.session(p.cfg.serversFor(0))
	c.Logger = p.log
	return c
}
