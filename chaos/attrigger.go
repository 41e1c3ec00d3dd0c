package chaos

import (
	"context"
	"errors"
	"fmt"

	"locklab/ensembles/agent"
)

// AtTrigger does another fault at a named point of a client's critical section: the client
// stops itself there, comes to harm, and goes on.
type AtTrigger struct {
	PauseAtTrigger
	Fault Fault
}

// Inject waits until the client has stopped itself, does the harm, and lets it go on.
func (a AtTrigger) Inject(ctx context.Context) (*Harm, error) {
	stopped, err := a.PauseAtTrigger.Inject(ctx)
	if stopped == nil {
		return nil, err
	}
	var harm *Harm
	if err == nil {
		harm, err = a.Fault.Inject(ctx)
	}
	clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), healCap)
	defer cancel()
	if _, herr := stopped.Heal(clean); herr != nil && !errors.Is(herr, agent.ErrNoProcess) {
		err = errors.Join(err, fmt.Errorf("let %s go on: %w", a.Host.Name, herr))
		harm = joined([]*Harm{harm, letGo(stopped)}) // the caller tries again
	}
	return harm, err
}

// letGo is a stopped client that need not be there any more to be healed: the harm may have ended it.
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
