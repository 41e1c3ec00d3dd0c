package chaos

import (
	"context"
	"errors"
	"fmt"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/harness/history"
)

// Witness is what has been seen of a run so far.
type Witness interface {
	// Triggered waits until a client of the host that was armed for the fault reported that it
	// stops itself, and returns that event.
	Triggered(ctx context.Context, fault, host string) (history.Event, error)
}

// PauseAtTrigger stops a client process at a named point of a critical section.
// The client stops itself there, because nobody outside can hit a hold of
// milliseconds; the agent sees it stopped.
type PauseAtTrigger struct {
	// ID is the fault's, by which the client reports.
	ID   string
	Host *ensembles.Host
	// Point is where it stops, in words.
	Point string
	// Arm and Disarm are the lines that the client process takes for that on its
	// standard input.
	Arm, Disarm string
	Witness     Witness
}

// Inject arms the trigger and waits until the client has stopped itself.
func (p PauseAtTrigger) Inject(ctx context.Context) (*Harm, error) {
	send := func(line string) func(context.Context) (agent.Stamp, error) {
		return func(ctx context.Context) (agent.Stamp, error) { return p.Host.Agent.Input(ctx, line) }
	}
	disarm := func(ctx context.Context) (int64, error) { st, err := send(p.Disarm)(ctx); return st.At, err }
	if _, err := tell(ctx, send(p.Arm), disarm); err != nil {
		return nil, fmt.Errorf("arm %s: %w", p.Host.Name, err)
	}
	e, err := p.Witness.Triggered(ctx, p.ID, p.Host.Name)
	if err != nil {
		// The trigger must not fire when nobody is left to resume the client.
		err = fmt.Errorf("no client of %s came to %s: %w", p.Host.Name, p.Point, err)
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), healCap)
		defer cancel()
		if _, derr := disarm(clean); derr != nil {
			err = errors.Join(err, fmt.Errorf("disarm: %w", derr))
		}
		// It may have fired all the same, and be stopped before it was told.
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
		// Whether it stopped is not known; the caller heals what it is given.
		return pausedHarm(p.Host, e.At), err
	}
	return pausedHarm(p.Host, at), nil
}
