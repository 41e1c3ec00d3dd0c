package chaos

import (
	"context"
	"errors"
	"fmt"

	"locklab/ensembles/agent"
)

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
