package client

import (
	"context"
	"errors"
	"fmt"
	"math"

	"golang.org/x/sync/errgroup"

	"locklab/harness/history"
	"locklab/recipes"
	"locklab/recipes/zksession"
	"locklab/workloads/claims"
	"locklab/workloads/lock"
	"locklab/workloads/resource"
)

// keep makes an access under a hold where the counter is in ZooKeeper. An error that wraps claims.ErrRefused says
// that it had no effect, any other that its outcome is unknown.
func (c *client) keep(ctx context.Context, p lock.Part, a resource.Access) (resource.Answer, error) {
	k, ok := c.source.(lock.Keeper)
	if !ok {
		return resource.Answer{}, fmt.Errorf("%w: recipe %s keeps nothing in ZooKeeper", claims.ErrRefused, c.p.cfg.Recipe)
	}
	n, err := k.Counter(a.Lock)
	if err != nil {
		return resource.Answer{}, err
	}
	var ops []zksession.Op
	value := a.Value
	if a.Op == history.OpWrite {
		if value > math.MaxInt32 {
			return resource.Answer{}, fmt.Errorf("%w: %d is more than a count in ZooKeeper can be", claims.ErrRefused, value)
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
		if err := k.Transact(ctx, p.Hold, ops...); err != nil {
			if unknown(err) {
				return resource.Answer{}, err
			}
			return resource.Answer{}, fmt.Errorf("%w: %w", claims.ErrRefused, err)
		}
	}
	return resource.Answer{Accepted: true, Value: value}, nil
}

// unknown reports whether a transaction that came to err may have been executed all the same: see [recipes.Hold.Multi].
func unknown(err error) bool {
	if errors.Is(err, zksession.ErrConnectionLoss) {
		return true
	}
	_, refused := errors.AsType[*zksession.OpError](err)
	return !refused && !errors.Is(err, recipes.ErrLockLost) && !errors.Is(err, recipes.ErrReleased) &&
		!errors.Is(err, recipes.ErrUnguarded)
}

// layOut makes the counters of all locks in ZooKeeper, in the session of a client that is connected.
func (p *process) layOut(ctx context.Context, of lock.Source) error {
	k, ok := of.(lock.Keeper)
	if !ok {
		return fmt.Errorf("recipe %s keeps nothing in ZooKeeper", p.cfg.Recipe)
	}
	return p.eachLock(func(path string) error {
		n, err := k.Counter(path)
		if err == nil {
			_, err = n.Get(ctx) // which creates it
		}
		return err
	})
}

// eachLock calls f for every lock, a bounded number at a time.
func (p *process) eachLock(f func(path string) error) error {
	var g errgroup.Group
	g.SetLimit(32)
	for _, path := range p.cfg.Locks {
		g.Go(func() error { return f(path) })
	}
	return g.Wait()
}

// finalCounts records the final values of all counters in ZooKeeper.
func (p *process) finalCounts(ctx context.Context) (err error) {
	s, err := recipes.Connect(
		ctx,
		recipes.SessionConfig{
			Config: p.sessionOf(),
		},
	)
	if err != nil {
		return err
	}
	defer func() {
		end, cancel := context.WithTimeout(context.Background(), closeCap)
		defer cancel()
		_ = s.Close(end) // what is left then ends with its session
	}()
	return p.eachLock(func(path string) error {
		n, err := lock.CounterOf(s, path)
		if err != nil {
			return err
		}
		v, err := n.Latest(ctx) // no hold of ours vouches for what this session has seen
		if err != nil {
			return err
		}
		return p.rec.Record(history.Final{Lock: path, Value: int64(v.Value), Version: int64(v.Version)}.Event())
	})
}
