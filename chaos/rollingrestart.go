package chaos

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"locklab/harness/check/evidence"
)

func rollingRestartKind() Kind {
	return Kind{
		Name: "rolling-restart", Family: FamilyProcess, Targets: OnAll,
		Momentary: true, Slot: slotProcess, Room: 15 * time.Second,
		Nature: evidence.FaultNature{Cause: causeKill, HampersLeader: true, Lingers: true},
		Does: "restarts every server, one after the other; each has rejoined the ensemble before the next one " +
			"stops",
		Verified: "each server runs as another process; after that, the ensemble is whole and commits writes " +
			"through each server",
		Examples: []string{"target: all"},
		check:    checkRollingRestart,
		injector: func(r *Run, i injection) (Injector, error) {
			var all []Process
			for _, h := range i.hosts {
				all = append(all, r.Process(h))
			}
			return r.slotted(i, rollingRestart{all: all}), nil
		},
	}
}

// rollPerServer is the least time that the restart of one server of several takes.
const rollPerServer = 2 * time.Second

// checkRollingRestart refuses a rolling restart that would end after the run, and one of a single server.
func checkRollingRestart(c *checker, f Fault) {
	if c.Servers == 1 {
		c.refuse(at("kind").and("servers"), "servers: 3 or 5; or kind: restart and target: zk1",
			"a single server is not restarted one after the other")
		return
	}
	if least := f.At + time.Duration(c.Servers)*rollPerServer; c.Duration > 0 && least > c.Duration {
		c.refuse(at("at").and("duration"), "duration: "+roundUp(least)+" or more",
			"the restart of %d servers one after the other takes %s at least", c.Servers, least-f.At)
	}
}

// rollingRestart restarts processes one after the other. Each process has to be back before the next one ends.
type rollingRestart struct {
	all []Process
	// next chooses the next one of those that are left, after the first of all; nil = in their order.
	next func(ctx context.Context, left []Process) int
	// whole restarts all of them in any case. Otherwise those that are left when the fault is healed are not restarted.
	whole bool
}

// Inject restarts the first process. The others follow while the fault is in force, until [Harm].Over.
func (r rollingRestart) Inject(ctx context.Context) (*Harm, error) {
	if len(r.all) == 0 {
		return nil, errors.New("rolling restart without a server")
	}
	first, err := r.all[0].restart(ctx)
	if err != nil {
		return first, err
	}
	h := &Harm{At: first.At, Verify: first.Verify}
	for _, p := range r.all {
		h.Hosts = append(h.Hosts, p.Host.Name)
	}
	// A restart that has begun is completed, even if the run is interrupted.
	rest := context.WithoutCancel(ctx)
	enough, over := make(chan struct{}), make(chan struct{})
	last := first
	var rolled error
	go func() {
		defer close(over)
		left := slices.Clone(r.all[1:])
		for len(left) > 0 {
			if rolled = backWithin(rest, last); rolled != nil {
				return
			}
			select {
			case <-enough:
				return
			default:
			}
			i := 0
			if r.next != nil {
				i = r.next(rest, left)
			}
			p := left[i]
			left = slices.Delete(left, i, i+1)
			var next *Harm
			if next, rolled = p.restart(rest); next != nil {
				last = next
			}
			if rolled != nil {
				return
			}
		}
	}()
	h.Over = func(ctx context.Context) error {
		select {
		case <-over:
			return nil // whether it went well is for the healing to say
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	stop := sync.OnceFunc(func() { close(enough) })
	h.Heal = func(ctx context.Context) (int64, error) {
		if !r.whole {
			stop()
		}
		if err := h.Over(ctx); err != nil {
			return 0, err
		}
		at, err := last.Heal(ctx)
		err, rolled = errors.Join(rolled, err), nil // reported once, because it does not prevent the healing
		return at, err
	}
	h.VerifyHealed = func(ctx context.Context) error {
		select {
		case <-over:
			return last.VerifyHealed(ctx)
		default:
			return errors.New("the restarts go on")
		}
	}
	return h, nil
}

// backWithin waits until a restarted process is back, for as long as any healing may take.
func backWithin(ctx context.Context, h *Harm) error {
	ctx, cancel := context.WithTimeout(ctx, healedCap)
	defer cancel()
	return h.VerifyHealed(ctx)
}
