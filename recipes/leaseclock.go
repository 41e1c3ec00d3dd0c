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

// LeaseClockConfig describes a session's lease clock: see [SessionConfig].LeaseClock. A client
// cannot ask a server for its tick, so it has to be told.
type LeaseClockConfig struct {
	// Tick is the servers' tickTime. Required. Twice a tick the leader collects from each follower
	// which sessions it has heard of, and only that keeps a session alive. If the servers' is
	// longer than the one given here the clock proves nothing.
	Tick time.Duration
	// Interval is the time from one heartbeat to the next, if the answer does not take longer; 0 = half a
	// Tick. Each is a write to the service. With shorter intervals shorter session timeouts will do: see MinTimeout.
	Interval time.Duration
	// Margin is taken off the end; 0 = one Tick. It covers what the clock cannot see: the rates of two machines'
	// clocks differ, the leader collects late, and the holder needs time to stop.
	Margin time.Duration
	// Path is the directory of the heartbeats' znodes, of which each session has one, named
	// "heartbeat-" + its id in hex; "" = /heartbeats. It is created as a container if it does not exist.
	// The znode is ephemeral: it goes with the session's Close or expiry.
	Path string

	_ struct{} // no positional literals
}

const (
	defaultHeartbeats = "/heartbeats"
	heartbeatMark     = "heartbeat-"
)

// withDefaults fills in what was left out, and refuses impossible values.
func (c LeaseClockConfig) withDefaults() (LeaseClockConfig, error) {
	if c.Tick <= 0 {
		return c, errors.New("lease clock: the servers' tick is not given")
	}
	if c.Interval == 0 {
		c.Interval = c.Tick / 2
	}
	if c.Margin == 0 {
		c.Margin = c.Tick
	}
	if c.Path == "" {
		c.Path = defaultHeartbeats
	}
	if c.Interval < time.Millisecond || c.Margin < 0 {
		return c, fmt.Errorf("lease clock: interval %s, margin %s", c.Interval, c.Margin)
	}
	return c, checkPath(c.Path)
}

// MinTimeout returns the bound that the session timeout T must exceed:
//
//	Margin + (⌊(Tick/2) / Interval⌋ + 3) × Interval
//
// which is 3 ticks with the default interval and margin, and close to 1½ with short
// intervals. With a T up to that the clock would run out between two heartbeats even
// while all is well and answers take next to no time; a T that exceeds it has
// the rest for slow answers.
//
// That is so because a heartbeat a at time 0, whose answer takes just a moment, is vouched for by the first
// two whose sending is half a tick after that answer or later, n at (⌊(Tick/2) / Interval⌋ + 1) × Interval and m
// one interval later. The next, and so a later deadline, comes after yet another interval. Until
// then the deadline is T − Margin.
func (c LeaseClockConfig) MinTimeout() (time.Duration, error) {
	c, err := c.withDefaults()
	if err != nil {
		return 0, err
	}
	return c.Margin + (c.Tick/2/c.Interval+3)*c.Interval, nil
}

// check refuses a session timeout that is too short for the clock.
func (c LeaseClockConfig) check(timeout time.Duration) error {
	least, err := c.MinTimeout()
	if err == nil && timeout <= least {
		err = fmt.Errorf("%w: session timeout %s, must exceed %s (tick %s, interval %s, margin %s)",
			ErrTimeoutTooShort, timeout, least, c.Tick, c.Interval, c.Margin)
	}
	return err
}

// A beat is a heartbeat that was acknowledged: the time just before it was sent, and the time when its answer
// arrived.
type beat struct{ sent, acked time.Time }

// A leaseRule says until when the service cannot have expired the session. The rule: let a be the newest acknowledged
// heartbeat that is followed by acknowledged heartbeats n and m with
//
//	sent(n) ≥ acked(a) + tick/2  and  sent(m) ≥ acked(n).
//
// Then the session lives until sent(a) + T at least, of which a margin is taken off.
//
// Why. Only the leader expires sessions: T after it last heard of one, or later, since it rounds up. Where the client's
// server is the leader, it hears of the session by a itself. A follower notes a, and passes it on in its answer to the
// leader's next ping. Nothing else informs the leader: neither a's own way to the leader nor a ping or read of the
// client's, and those are answered even while the follower is cut off. The leader pings every half tick. So before n
// comes to it, it has sent a ping after a was noted. n's answer goes the same way and comes to the follower behind that
// ping: by then the follower has sent its own answer, with a in it. m goes to the leader behind that answer. So when m
// is acknowledged the leader knows of a, which it heard of after a was sent.
//
// A client that moves to another server in between changes nothing: that server asks the leader for the session before
// it serves it, later than a. Another leader changes nothing either: it gives each session a new T; and one that was
// deposed without knowing it commits nothing, so it acknowledges no n. That is why the heartbeats are writes, which a
// quorum has seen. A deposed leader would answer a sync for as long as it takes it to notice, syncLimit ticks and one,
// by which the margin would have to be larger.
type leaseRule struct {
	tick, timeout, margin time.Duration
	// beats are those acknowledged that are not yet vouched for, oldest first. The last is
	// the only one needed as n, since of those before m it was sent last.
	beats []beat
	until time.Time
}

// acknowledged takes note of a heartbeat, which was sent when the one before it had been answered
// or given up.
func (r *leaseRule) acknowledged(m beat) {
	if len(r.beats) > 0 {
		n := r.beats[len(r.beats)-1]
		for len(r.beats) > 1 && !n.sent.Before(r.beats[0].acked.Add(r.tick/2)) {
			r.until = r.beats[0].sent.Add(r.timeout - r.margin)
			r.beats = r.beats[1:]
		}
	}
	r.beats = append(r.beats, m)
}

// deadline returns the time until which the session certainly lives, less the margin; zero if none is known.
func (r *leaseRule) deadline() time.Time { return r.until }

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
