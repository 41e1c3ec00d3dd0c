package inspect

import (
	"context"
	"errors"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"locklab/recipes/zksession"
)

// ErrSpent says that the limit of requests was reached before everything was seen.
var ErrSpent = errors.New("the limit of requests is reached")

// A reader sends reads, no more than its limits allow. It may be used by several goroutines.
type reader struct {
	zk   zksession.ZooKeeper
	pace *rate.Limiter
	most int64
	sent atomic.Int64
}

// inFlight is how many reads wait for their answers at the same time at most.
const inFlight = 32

// each calls do for every number below n, from several goroutines, and waits for all of them.
func each(n int, do func(i int)) {
	var g errgroup.Group
	g.SetLimit(inFlight)
	for i := range n {
		g.Go(func() error { do(i); return nil })
	}
	_ = g.Wait()
}

func (r *reader) take(ctx context.Context) error {
	if n := r.sent.Add(1); n > r.most {
		r.sent.Add(-1)
		return ErrSpent
	}
	return r.pace.Wait(ctx)
}

func (r *reader) children(ctx context.Context, dir string) ([]string, error) {
	if err := r.take(ctx); err != nil {
		return nil, err
	}
	return r.zk.Children(ctx, dir)
}

// fill reads the znodes of contenders. A contender whose znode has gone meanwhile is marked as gone, and one that the
// credential may not read as hidden.
func (r *reader) fill(ctx context.Context, all []*Contender) error {
	errs := make([]error, len(all))
	each(len(all), func(i int) {
		c := all[i]
		if errs[i] = r.take(ctx); errs[i] != nil {
			return
		}
		data, stat, err := r.zk.Get(ctx, c.Path)
		switch {
		case errors.Is(err, zksession.ErrNoNode):
			c.gone = true
		case errors.Is(err, zksession.ErrNoAuth):
			c.hidden = true
		case err != nil:
			errs[i] = err
		default:
			c.take(data, stat)
		}
	})
	return errors.Join(errs...)
}
