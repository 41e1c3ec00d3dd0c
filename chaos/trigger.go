package chaos

import (
	"context"
	"errors"
	"fmt"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/harness/history"
)

// pauseAtTrigger stops a client process at a named point of a critical section. The client stops itself there,
// because a signal from outside would miss holds of milliseconds. The agent sees that the client has stopped.
type pauseAtTrigger struct {
	byClient
	point string // where it stops
}

// Inject arms the trigger and waits until the client has stopped itself.
func (p pauseAtTrigger) Inject(ctx context.Context) (*Harm, error) {
	if err := p.command(ctx); err != nil {
		return nil, err
	}
	e, err := p.reported(ctx, "reached "+p.point)
	if err != nil {
		// The client may have stopped itself all the same, before it could report that.
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), healCap)
		defer cancel()
		if st, serr := p.host.Agent.Status(clean); serr == nil && st.State == history.ProcessStopped {
			return pausedHarm(p.host, st.Since), err
		}
		return nil, err
	}
	var at int64
	err = ensembles.Poll(ctx, pollEvery, "process of "+p.host.Name+" to stop", func() error {
		st, err := p.host.Agent.Status(ctx)
		if err == nil && st.State != history.ProcessStopped {
			err = fmt.Errorf("process is %s", st.State)
		}
		at = st.Since
		return err
	})
	if err != nil {
		// It is not known whether the client stopped, so the caller heals it in any case.
		return pausedHarm(p.host, e.At), err
	}
	return pausedHarm(p.host, at), nil
}

// atTrigger injects another fault at a named point of a client's critical section. The client stops itself there, the
// fault strikes, and the client goes on.
type atTrigger struct {
	pauseAtTrigger
	injector Injector
}

// Inject waits until the client has stopped itself, injects the fault, and lets the client go on.
func (a atTrigger) Inject(ctx context.Context) (*Harm, error) {
	stopped, err := a.pauseAtTrigger.Inject(ctx)
	if stopped == nil {
		return nil, err
	}
	var harm *Harm
	if err == nil {
		harm, err = a.injector.Inject(ctx)
	}
	clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), healCap)
	defer cancel()
	if _, herr := stopped.Heal(clean); herr != nil && !errors.Is(herr, agent.ErrNoProcess) {
		err = errors.Join(err, fmt.Errorf("resume %s: %w", a.host.Name, herr))
		harm = joined([]*Harm{harm, letGo(stopped)}) // the caller tries again
	}
	return harm, err
}

// letGo returns the harm of a stopped client whose healing tolerates that the process is gone, because the other
// fault may have ended it.
func letGo(stopped *Harm) *Harm {
	h := *stopped
	h.Heal = func(ctx context.Context) (int64, error) {
		at, err := stopped.Heal(ctx)
		if errors.Is(err, agent.ErrNoProcess) {
			return stopped.At, nil
		}
		return at, err
	}
	return &h
}
