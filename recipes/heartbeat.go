package recipes

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"time"

	"locklab/recipes/zksession"
)

// A leaseClock sends a session's heartbeats and moves the deadlines of the session's terms by [leaseRule].
type leaseClock struct {
	*terms
	zk   zksession.ZooKeeper
	cfg  LeaseClockConfig
	node string
	log  *slog.Logger
	rule leaseRule // guarded by terms.mu
}

// startLeaseClock gives the session a lease clock. It is called before the session is used.
func (s *Session) startLeaseClock(cfg LeaseClockConfig) error {
	cfg, err := cfg.withDefaults()
	if err == nil {
		err = cfg.check(s.Timeout())
	}
	if err != nil {
		return err
	}
	c := &leaseClock{terms: newTerms(s.life, s.timers), zk: s.zk, cfg: cfg, log: s.janitor.log,
		node: path.Join(cfg.Path, fmt.Sprintf("%s%x", heartbeatMark, uint64(s.ID()))),
		rule: leaseRule{tick: cfg.Tick, timeout: s.Timeout(), margin: cfg.Margin}}
	s.clock, s.terms = c, c.terms
	context.AfterFunc(s.life, c.stop)
	if !s.tasks.Start(c.run) {
		return s.Err()
	}
	return nil
}

// run sends heartbeats, one at a time, until the session is over.
func (c *leaseClock) run() {
	for c.zk.Err() == nil {
		begun := time.Now()
		b, err := c.beat()
		c.refuse(err)
		if err == nil {
			c.acknowledged(b)
		} else {
			c.log.Debug("lease clock: heartbeat", "error", err)
		}
		select {
		case <-c.timers.after(c.cfg.Interval - time.Since(begun)):
		case <-c.zk.Done():
		}
	}
}

// beat sends one heartbeat. Its context ends only with the session, because a heartbeat that was given up could still
// be executed beside the next one.
func (c *leaseClock) beat() (beat, error) {
	ctx := context.Background()
	if err := c.zk.Await(ctx); err != nil {
		return beat{}, err
	}
	sent := time.Now()
	_, err := c.zk.Multi(ctx, zksession.Op{Kind: zksession.OpSet, Path: c.node, Version: zksession.AnyVersion})
	acked := time.Now()
	if errors.Is(err, zksession.ErrNoNode) {
		// This is the first heartbeat, or an administrator deleted the znode. The next heartbeat will find it.
		if made := c.create(ctx); made != nil {
			err = fmt.Errorf("create %s: %w", c.node, made)
		}
	}
	return beat{sent, acked}, err
}

// create creates the heartbeats' znode.
func (c *leaseClock) create(ctx context.Context) error {
	_, err := c.zk.Create(ctx, c.node, nil, zksession.Ephemeral)
	if errors.Is(err, zksession.ErrNoNode) {
		if err = ensureDir(ctx, c.zk, c.cfg.Path); err == nil {
			_, err = c.zk.Create(ctx, c.node, nil, zksession.Ephemeral)
		}
	}
	if errors.Is(err, zksession.ErrNodeExists) {
		return nil // by a request whose answer was lost: no other session has this id
	}
	return err
}

// acknowledged moves the deadline on, or begins a new term if the last one is over.
func (c *leaseClock) acknowledged(b beat) {
	c.mu.Lock()
	defer c.mu.Unlock()
	// This comes first, because the answer may have waited, while this process was stopped, until after the deadline.
	c.lapse(c.term)
	c.rule.acknowledged(b)
	c.extend(c.rule.deadline())
}
