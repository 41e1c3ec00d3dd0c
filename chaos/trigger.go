package chaos

import (
	"context"
	"errors"
	"fmt"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/harness/history"
)

// PauseAtTrigger stops a client process at a named point of a critical section. The client stops itself there,
// because a signal from outside would miss holds of milliseconds. The agent sees that the client has stopped.
type PauseAtTrigger struct {
	// ID is the fault's id, which the client reports.
	ID   string
	Host *ensembles.Host
	// Point is where it stops, in words.
	Point string
	// Arm and Disarm are the lines that set and remove the trigger, on the client process's standard input.
	Arm, Disarm string
	Witness     Witness
}

// Inject arms the trigger and waits until the client has stopped itself.
func (p PauseAtTrigger) Inject(ctx context.Context) (*Harm, error) {
	send := func(line string) func(context.Context) (agent.Stamp, error) {
		return func(ctx context.Context) (agent.Stamp, error) { return p.Host.Agent.Input(ctx, line) }
	}
	disarm := func(ctx context.Context) (int64, error) { st, err := send(p.Disarm)(ctx); return st.At, err }
	if _, err := carryOut(ctx, send(p.Arm), disarm); err != nil {
		return nil, fmt.Errorf("arm %s: %w", p.Host.Name, err)
	}
	e, err := p.Witness.Triggered(ctx, p.ID, p.Host.Name)
	if err != nil {
		// The trigger must not fire when nothing is left to resume the client.
		err = fmt.Errorf("no client of %s reached %s: %w", p.Host.Name, p.Point, err)
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), healCap)
		defer cancel()
		if _, derr := disarm(clean); derr != nil {
			err = errors.Join(err, fmt.Errorf("disarm: %w", derr))
		}
		// The client may have fired the trigger all the same, and may be stopped before it could report it.
		if st, serr := p.Host.Agent.Status(clean); serr == nil && st.State == history.ProcessStopped {
			return pausedHarm(p.Host, st.Since), err
		}
		return nil, err
	}
	var at int64
	err = ensembles.Poll(ctx, pollEvery, "process of "+p.Host.Name+" to stop", func() error {
		st, err := p.Host.Agent.Status(ctx)
		if err == nil && st.State != history.ProcessStopped {
			err = fmt.Errorf("process is %s", st.State)
		}
		at = st.Since
		return err
	})
	if err != nil {
		// It is not known whether the client stopped, so the caller heals it in any case.
		return pausedHarm(p.Host, e.At), err
	}
	return pausedHarm(p.Host, at), nil
}
