package client

import (
	"context"
	"errors"
	"path"
	"time"

	"locklab/harness/history"
	"locklab/recipes"
)

// resizes reports whether this process changes how many permits there are: one does it for all.
func (c *Config) resizes() bool { return c.Resize.Every > 0 && c.First == 0 }

// countPath is where the number of a semaphore's permits is, beside the semaphore.
func countPath(lock string) string { return path.Join(path.Dir(lock), path.Base(lock)+"-permits") }

// sharedPermits is the number of a semaphore's permits, as it changes.
func sharedPermits(s *recipes.Session, lock string, cfg *Config) (*recipes.SharedCount, error) {
	return recipes.NewSharedCount(recipes.SharedCountConfig{Session: s, Path: countPath(lock), Seed: int32(cfg.Permits)})
}

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
			s, err = recipes.Connect(ctx, recipes.SessionConfig{Servers: cfg.serversFor(0), Timeout: cfg.SessionTimeout, Logger: p.log})
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

// setPermits sets the number of permits of every lock, and records that it did.
func (p *process) setPermits(ctx context.Context, s *recipes.Session, permits int) error {
	var errs []error
	for _, lock := range p.cfg.Locks {
		count, err := sharedPermits(s, lock, &p.cfg)
		if err == nil {
			err = count.SetCount(ctx, int32(permits))
		}
		if err == nil {
			err = p.rec.Record(history.Event{Op: history.OpResize, Lock: lock, Value: int64(permits)})
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
