package chaos

import (
	"context"
	"fmt"
	"strings"

	"locklab/ensembles"
	"locklab/harness/history"
)

// A Process is a host's one process, and how it comes back after its end.
type Process struct {
	Host *ensembles.Host
	// Again starts it again and returns when; nil = as it was started the last time.
	Again func(context.Context) (at int64, err error)
	// Finish does with a process that runs what Again may have left undone; nil = there is nothing more to do.
	Finish func(context.Context) error
	// Up reports why it does not work yet, by a look; nil = it is enough that it runs.
	Up func(context.Context) error
	// Back waits within ctx until it does its work again, and for whatever depends on it; nil = Up.
	Back func(context.Context) error
}

// Server is a server's process. It is up as soon as it answers, and back when the ensemble is whole.
func Server(h *ensembles.Host, e *ensembles.Ensemble) Process {
	return Process{Host: h, Up: func(ctx context.Context) error {
		answer, err := h.Agent.Ask(ctx, "srvr")
		if err == nil && !strings.Contains(answer, "Mode:") {
			err = fmt.Errorf("%s answers %q", h.Name, strings.TrimSpace(answer))
		}
		return err
	}, Back: e.AwaitReady}
}

// start starts the process again, unless it runs already: then it is only seen to that it was wholly started.
func (p Process) start(ctx context.Context) (int64, error) {
	now, err := p.Host.Agent.Status(ctx)
	if err != nil {
		return 0, err
	}
	if now.State != history.ProcessExited {
		if p.Finish != nil {
			err = p.Finish(ctx)
		}
		return now.Since, err
	}
	if p.Again != nil {
		return p.Again(ctx)
	}
	st, err := p.Host.Agent.Restart(ctx)
	return st.At, err
}

// up reports why the process does not work yet.
func (p Process) up(ctx context.Context) error {
	st, err := p.Host.Agent.Status(ctx)
	if err == nil && st.State == history.ProcessExited {
		err = fmt.Errorf("process of %s has ended: %s", p.Host.Name, st.Exit)
	}
	if err == nil && p.Up != nil {
		err = p.Up(ctx)
	}
	return err
}

// back waits until the process does its work again.
func (p Process) back(ctx context.Context) error {
	err := ensembles.Poll(ctx, pollEvery, "process of "+p.Host.Name+" to work again", func() error { return p.up(ctx) })
	if err == nil && p.Back != nil {
		err = p.Back(ctx)
	}
	return err
}

// down reports why the process is not gone, by its state and by its silence.
func (p Process) down(ctx context.Context) error {
	st, err := p.Host.Agent.Status(ctx)
	if err == nil && st.State != history.ProcessExited {
		err = fmt.Errorf("process of %s is %s", p.Host.Name, st.State)
	}
	if err != nil {
		return err
	}
	if p.Up == nil {
		return nil
	}
	// Whoever tells what works may hear of its end a moment later.
	return ensembles.Poll(ctx, pollEvery, "silence of "+p.Host.Name, func() error {
		if p.Up(ctx) == nil {
			return fmt.Errorf("%s still answers", p.Host.Name)
		}
		return nil
	})
}

// harm is the process's being gone since then.
func (p Process) harm(at int64) *Harm {
	return &Harm{At: at, Hosts: []string{p.Host.Name}, Verify: p.down, Heal: p.start, VerifyHealed: p.back}
}
