package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"locklab/ensembles"
	"locklab/ensembles/reach"
	"locklab/ensembles/remote"
	"locklab/harness/fail"
	"locklab/harness/history"
)

// ErrStrained says that a run ended itself, to spare an ensemble that is not locklab's and was slow.
var ErrStrained = fail.Unknown.New("the run ended itself to spare the ensemble")

const (
	// strainEvery is how often each server of such an ensemble is asked how it is. One write a second is no load.
	strainEvery = time.Second
	// strainTimes is how many answers in a row must be bad, because a single one may be this machine's fault.
	strainTimes = 3
	// mostOutstanding is how many requests may wait in a server. From twice as many on, a server with ZooKeeper's
	// defaults lets its clients wait (globalOutstandingLimit).
	mostOutstanding = 500
)

// spare watches the servers of an ensemble elsewhere. Once one of them is strained, the context that it returns ends.
// stop ends the watching, and returns an error that wraps ErrStrained if that was why.
func (r *run) spare(ctx context.Context) (bearable context.Context, stop func() error) {
	bearable, end := context.WithCancelCause(ctx)
	if r.stage.outside == nil {
		return bearable, func() error { end(nil); return nil }
	}
	var watching sync.WaitGroup
	for i, h := range r.stage.ensemble.Servers {
		if h == r.stage.ensemble.Silent {
			continue
		}
		pinger := r.stage.outside.path.Pinger(i)
		p := strainWatch{limit: r.sc.MaxLatency,
			ping: func(ctx context.Context) (time.Duration, error) {
				asked := time.Now()
				ping, err := pinger.Ping(ctx)
				if err != nil { // it may have made the znode and then failed to delete it
					ping = remote.Ping{Sent: asked, Took: time.Since(asked)}
				}
				sent := r.stage.clock.At(ping.Sent)
				noted := r.note(history.Ping{Server: h.Name, Node: ping.Node, Took: ping.Took}.Event(sent))
				return ping.Took, cmp.Or(err, noted)
			},
			outstanding: func(ctx context.Context) (int, bool) { return outstanding(ctx, h) }}
		watching.Go(func() {
			defer func() { _ = pinger.Close(context.WithoutCancel(ctx)) }() // it ends with the run's path, too
			if why := p.watch(bearable); why != "" {
				end(fmt.Errorf("%w: %s (%s) %s; if that is to be expected, as when a server restarts, give --max-latency 60s",
					ErrStrained, h.Name, r.stage.outside.access.Servers[i], why))
			}
			if !errors.Is(context.Cause(bearable), ErrStrained) {
				// The pings also place the servers' clock. A run may be over before the second one, and the first one came
				// before the run's part of the logs.
				once, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*p.limit)
				_, _ = p.ping(once)
				cancel()
			}
		})
	}
	return bearable, func() error {
		end(nil)
		watching.Wait()
		if cause := context.Cause(bearable); errors.Is(cause, ErrStrained) {
			return cause
		}
		return nil
	}
}

// A strainWatch finds out when a server is strained.
type strainWatch struct {
	limit time.Duration
	// ping makes a write and says how long that took.
	ping func(context.Context) (time.Duration, error)
	// outstanding returns how many requests wait in the server, if it tells.
	outstanding func(context.Context) (int, bool)
}

// watch asks the server until ctx ends or the server was strained strainTimes in a row, and returns how.
func (w strainWatch) watch(ctx context.Context) string {
	tick := time.NewTicker(strainEvery)
	defer tick.Stop()
	for bad := 0; ; {
		why := w.ask(ctx)
		if ctx.Err() != nil {
			return ""
		}
		if bad++; why == "" {
			bad = 0
		}
		if bad == strainTimes {
			return fmt.Sprintf("%s, %d times in a row", why, strainTimes)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ""
		}
	}
}

// ask says in which way the server is strained; empty if it is not.
func (w strainWatch) ask(ctx context.Context) string {
	if n, told := w.outstanding(ctx); told && n > mostOutstanding {
		return fmt.Sprintf("had %d requests waiting, more than %d", n, mostOutstanding)
	}
	once, cancel := context.WithTimeout(ctx, 2*w.limit) // for two writes
	defer cancel()
	took, err := w.ping(once)
	switch {
	case err != nil && once.Err() == nil:
		return fmt.Sprintf("refused a write (%v)", err)
	case err != nil:
		return fmt.Sprintf("committed no write within %v, and max-latency is %v", 2*w.limit, w.limit)
	case took > w.limit:
		return fmt.Sprintf("took %v to commit a write, and max-latency is %v", took.Round(time.Millisecond), w.limit)
	}
	return ""
}

// outstanding asks a server how many requests wait in it. It tells how long requests took too, but only since it
// started, which says nothing of now.
func outstanding(ctx context.Context, h *ensembles.Host) (int, bool) {
	answer, err := h.Agent.Ask(ctx, "srvr")
	if err != nil {
		return 0, false
	}
	n, err := strconv.Atoi(reach.Field(answer, "Outstanding:"))
	return n, err == nil
}
