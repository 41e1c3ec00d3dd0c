package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/harness/history"
)

// ErrUnsupported is wrapped by the error of a fault that this machine cannot inject. The error names the capability
// that is missing, and no harm was done.
var ErrUnsupported = agent.ErrUnsupported

// ErrNobody is wrapped by the error of a fault that found no target, or only targets that another fault occupies. No
// harm was done.
var ErrNobody = errors.New("no target to strike")

// An Injector injects one kind of fault into hosts that are already chosen.
//
// Inject returns once the harm is done. If it returns an error without harm, it has undone whatever it did before it
// failed or was interrupted. Harm that it returns must be healed even if verifying fails.
type Injector interface {
	Inject(ctx context.Context) (*Harm, error)
}

// Harm is a fault in force. Each of its functions may be called several times.
type Harm struct {
	// At is when the fault took effect, in ns of CLOCK_MONOTONIC, as stamped by an agent.
	At int64
	// Hosts are the names of the hosts that the fault struck.
	Hosts []string
	// Verify looks for the effect and reports why the fault is not in force.
	Verify func(context.Context) error
	// Sessions and Nodes are what the fault struck, if that is not hosts: the sessions that were ended or moved, or
	// the paths of znodes and the sessions that owned them. They are empty for other faults.
	Sessions []history.SessionID
	Nodes    []string
	// Versions says which version of ZooKeeper came in the place of which, by what servers tell; empty for faults that
	// leave it alone.
	Versions string
	// Over waits until a fault that ends by itself is done; nil for a fault that lasts until it is healed.
	Over func(context.Context) error
	// Heal undoes the fault and returns when. It is nil for a fault that is over at once, such as the reset of a
	// connection.
	Heal func(context.Context) (at int64, err error)
	// VerifyHealed waits within ctx for the effect to end, and reports why it has not. After a fault that is over at
	// once, it waits for the recovery, such as a client's new connection.
	VerifyHealed func(context.Context) error
}

// done lists what the fault struck, beside its hosts. A single session is left out, because the event has a field for
// it.
func (h *Harm) done() string {
	if h.Versions != "" {
		return h.Versions
	}
	what := slices.Clone(h.Nodes)
	if len(h.Sessions) > 1 {
		for _, s := range h.Sessions {
			what = append(what, s.String())
		}
	}
	return strings.Join(what, " ")
}

// whenHealed returns the harm, and calls f once it has been healed.
func (h *Harm) whenHealed(f func()) *Harm {
	one := *h
	f = sync.OnceFunc(f)
	one.Heal = func(ctx context.Context) (int64, error) {
		at, err := h.Heal(ctx)
		if err == nil {
			f()
		}
		return at, err
	}
	return &one
}

// withdraw heals harm that must not stay because of err. If that fails, it also returns the harm, so that the caller
// heals it again.
func (h *Harm) withdraw(ctx context.Context, err error) (*Harm, error) {
	clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), healCap)
	defer cancel()
	if _, herr := h.Heal(clean); herr != nil {
		return h, errors.Join(err, herr)
	}
	return nil, err
}

// thenReady returns a check of whether an effect is over, and the ensemble is whole after that.
func thenReady(e *ensembles.Ensemble, over func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := over(ctx); err != nil {
			return err
		}
		return e.AwaitReady(ctx)
	}
}

// An injectorFunc is an Injector that consists of one function.
type injectorFunc func(context.Context) (*Harm, error)

// Inject implements [Injector].
func (f injectorFunc) Inject(ctx context.Context) (*Harm, error) { return f(ctx) }

// deferred returns an injector that is made only when it injects, because it depends on the leader at that moment.
func deferred(make func(context.Context) (Injector, error)) Injector {
	return injectorFunc(func(ctx context.Context) (*Harm, error) {
		injector, err := make(ctx)
		if err != nil {
			return nil, err
		}
		return injector.Inject(ctx)
	})
}

// named returns an injector whose errors begin with a name.
func named(name string, injector Injector) Injector {
	return injectorFunc(func(ctx context.Context) (*Harm, error) {
		h, err := injector.Inject(ctx)
		if err != nil {
			err = fmt.Errorf("%s: %w", name, err)
		}
		return h, err
	})
}

// A command makes an agent do something.
type command = func(context.Context) (agent.Stamp, error)

// commandCap bounds the time that an agent may take to inject a fault. It normally takes milliseconds.
const commandCap = 10 * time.Second

// carryOut makes an agent inject a fault, and undoes it if that fails. It waits for the agent's answer even if ctx
// ends, because an agent may carry out an abandoned request after the request that undoes it.
func carryOut(ctx context.Context, c command, undo func(context.Context) (int64, error)) (at int64, err error) {
	return carryOutAll(ctx, []command{c}, undo)
}

// carryOutAll is carryOut for several agents at once. Either all of them do it, or it is undone. It returns the time
// at which the last agent did it.
func carryOutAll(ctx context.Context, all []command, undo func(context.Context) (int64, error)) (at int64, err error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	ctx = context.WithoutCancel(ctx)
	once, cancel := context.WithTimeout(ctx, commandCap)
	defer cancel()
	at, err = carryOutOnce(once, all)
	if err == nil || len(all) == 1 && errors.Is(err, agent.ErrNoProcess) {
		return at, err // no harm is done to a process that is not there
	}
	clean, cancel := context.WithTimeout(ctx, healCap)
	defer cancel()
	if _, uerr := undo(clean); uerr != nil && !errors.Is(uerr, agent.ErrNoProcess) {
		err = errors.Join(err, fmt.Errorf("undo: %w", uerr))
	}
	return 0, err
}

// carryOutOnce sends all commands at once, and returns the time at which the last was carried out.
func carryOutOnce(ctx context.Context, all []command) (at int64, err error) {
	var mu sync.Mutex
	err = each(all, func(c command) error {
		st, err := c(ctx)
		mu.Lock()
		defer mu.Unlock()
		at = max(at, st.At)
		return err
	})
	return at, err
}
