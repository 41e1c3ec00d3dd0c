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
	// ID is the fault's id, which the client reports.
	id   string
	host *ensembles.Host
	// Point is where it stops, in words.
	point string
	// Arm and Disarm are the lines that set and remove the trigger, on the client process's standard input.
	arm, disarm string
	witness     Witness
}

// Inject arms the trigger and waits until the client has stopped itself.
func (p pauseAtTrigger) Inject(ctx context.Context) (*Harm, error) {
	send := func(line string) func(context.Context) (agent.Stamp, error) {
		return func(ctx context.Context) (agent.Stamp, error) { return p.host.Agent.Input(ctx, line) }
	}
	disarm := func(ctx context.Context) (int64, error) { st, err := send(p.disarm)(ctx); return st.At, err }
	if _, err := carryOut(ctx, send(p.arm), disarm); err != nil {
		return nil, fmt.Errorf("arm %s: %w", p.host.Name, err)
	}
	e, err := p.witness.Triggered(ctx, p.id, p.host.Name)
	if err != nil {
		// The trigger must not fire when nothing is left to resume the client.
		err = fmt.Errorf("no client of %s reached %s: %w", p.host.Name, p.point, err)
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), healCap)
		defer cancel()
		if _, derr := disarm(clean); derr != nil {
			err = errors.Join(err, fmt.Errorf("disarm: %w", derr))
		}
		// The client may have fired the trigger all the same, and may be stopped before it could report it.
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
