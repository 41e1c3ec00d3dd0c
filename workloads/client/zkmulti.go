package client

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path"

	"golang.org/x/sync/errgroup"

	"locklab/harness/history"
	"locklab/recipes"
	"locklab/workloads/resource"
)

// GuardZKMulti keeps each lock's counter in ZooKeeper itself, and writes it only in a transaction that
// checks the hold's znodes too (see [recipes.Hold.Multi]). So the service that grants the lock is the one that
// refuses the write, however long the client stood between its last question and the write. A read is made in the
// hold's session, and needs no sync: that session saw the last holder's znode gone, which no write of
// his can come behind. What a reader reads counts only once a transaction has seen that his hold lasted
// after it.
const GuardZKMulti = "zk-multi"

// errRefused is why an access was certainly not made, other than by errGivenUp.
var errRefused = errors.New("refused")

// A count is a counter in ZooKeeper: a [recipes.SharedCount].
type count interface {
	Get(ctx context.Context) (recipes.Count, error)
	SetOp(value int32) recipes.Op
}

// A keeper is a source that can keep what a lock protects in ZooKeeper.
type keeper interface {
	// count returns a lock's counter, which is read in the source's session.
	count(lock string) (count, error)
	// transact is [recipes.Hold.Multi], of a hold that the source has granted.
	transact(ctx context.Context, hold *recipes.Hold, ops ...recipes.Op) error
}

// datumPath is where the counter of a lock is, beside the lock.
func datumPath(lock string) string { return path.Join(path.Dir(lock), path.Base(lock)+"-datum") }

func datum(s *recipes.Session, lock string) (*recipes.SharedCount, error) {
	return recipes.NewSharedCount(recipes.SharedCountConfig{Session: s, Path: datumPath(lock)})
}

func (o ourSource) count(lock string) (count, error) { return datum(o.Session, lock) }

func (ourSource) transact(ctx context.Context, hold *recipes.Hold, ops ...recipes.Op) error {
	_, err := hold.Multi(ctx, ops...)
	return err
}

// keep makes an access under a hold where the counter is in ZooKeeper. An error that wraps errRefused says
// that it had no effect, any other that its outcome is unknown.
func (c *client) keep(ctx context.Context, p part, a resource.Access) (resource.Answer, error) {
	k, ok := c.source.(keeper)
	if !ok {
		return resource.Answer{}, fmt.Errorf("%w: recipe %s keeps nothing in ZooKeeper", errRefused, c.p.cfg.Recipe)
	}
	n, err := k.count(a.Lock)
	if err != nil {
		return resource.Answer{}, err
	}
	var ops []recipes.Op
	value := a.Value
	if a.Op == history.OpWrite {
		if value > math.MaxInt32 {
			return resource.Answer{}, fmt.Errorf("%w: %d is more than a count in ZooKeeper can be", errRefused, value)
		}
		ops = append(ops, n.SetOp(int32(value)))
	} else {
		read, err := n.Get(ctx)
		if err != nil {
			return resource.Answer{}, err
		}
		value = int64(read.Value)
	}
	if len(ops) > 0 || a.Mode == history.ModeRead {
		if err := k.transact(ctx, p.hold, ops...); err != nil {
			if unknown(err) {
				return resource.Answer{}, err
			}
			return resource.Answer{}, fmt.Errorf("%w: %w", errRefused, err)
		}
	}
	return resource.Answer{Accepted: true, Value: value}, nil
}

// unknown reports whether a transaction that came to err may have been executed all the same: see [recipes.Hold.Multi].
func unknown(err error) bool {
	if errors.Is(err, recipes.ErrConnectionLoss) {
		return true
	}
	_, refused := errors.AsType[*recipes.OpError](err)
	return !refused && !errors.Is(err, recipes.ErrLockLost) && !errors.Is(err, recipes.ErrReleased) && !errors.Is(err, recipes.ErrUnguarded)
}

// layOut makes the counters of all locks in ZooKeeper, in the session of a client that is connected.
func (p *process) layOut(ctx context.Context, of source) error {
	k, ok := of.(keeper)
	if !ok {
		return fmt.Errorf("recipe %s keeps nothing in ZooKeeper", p.cfg.Recipe)
	}
	return p.eachLock(func(lock string) error {
		n, err := k.count(lock)
		if err == nil {
			_, err = n.Get(ctx) // which creates it
		}
		return err
	})
}

// eachLock calls f for every lock, a bounded number at a time.
func (p *process) eachLock(f func(lock string) error) error {
	var g errgroup.Group
	g.SetLimit(32)
	for _, lock := range p.cfg.Locks {
		g.Go(func() error { return f(lock) })
	}
	return g.Wait()
}

// finalCounts records what all counters in ZooKeeper have come to.
func (p *process) finalCounts(ctx context.Context) (err error) {
	s, err := recipes.Connect(ctx, recipes.SessionConfig{Servers: p.cfg.serversFor(0), Timeout: p.cfg.SessionTimeout, Logger: p.log})
	if err != nil {
		return err
	}
	defer func() {
		end, cancel := context.WithTimeout(context.Background(), closeCap)
		defer cancel()
		_ = s.Close(end) // what is left then ends with its session
	}()
	return p.eachLock(func(lock string) error {
		n, err := datum(s, lock)
		if err != nil {
			return err
		}
		v, err := n.Latest(ctx) // no hold of ours vouches for what this session has seen
		if err != nil {
			return err
		}
		return p.rec.Record(history.Event{Op: history.OpFinal, Lock: lock, Value: int64(v.Value), Token: int64(v.Version)})
	})
}
