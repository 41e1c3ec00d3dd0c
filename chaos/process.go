package chaos

import (
	"context"
	"fmt"
	"strings"

	"locklab/ensembles"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
)

// A Process is the one process of a host, and how it comes back after its end.
type Process struct {
	Host *ensembles.Host
	// restart starts it again and returns when; nil = as it was started the last time.
	Restart func(context.Context) (at int64, err error)
	// Finish completes a start of a process that runs already, if Restart was interrupted; nil = there is nothing to
	// complete.
	Finish func(context.Context) error
	// Up looks once and reports why the process does not work yet; nil = it is enough that it runs.
	Up func(context.Context) error
	// Back waits within ctx until the process does its work again, and so does everything that depends on it; nil =
	// Up.
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

// start starts the process again. If the process runs already, start only completes the earlier start.
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
	if p.Restart != nil {
		return p.Restart(ctx)
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

// down reports why the process is not gone. It goes by the process's state and by its silence.
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
	// Up may learn of the process's end a moment later.
	return ensembles.Poll(ctx, pollEvery, "silence of "+p.Host.Name, func() error {
		if p.Up(ctx) == nil {
			return fmt.Errorf("%s still answers", p.Host.Name)
		}
		return nil
	})
}

// end ends the process by a command to its agent. Starting the process again heals that.
func (p Process) end(ctx context.Context, c command) (*Harm, error) {
	at, err := carryOut(ctx, c, p.start)
	if err != nil {
		return nil, err
	}
	return &Harm{At: at, Hosts: []string{p.Host.Name}, Verify: p.down, Heal: p.start, VerifyHealed: p.back}, nil
}

// verifiedBack says how it is known that a process that was ended is back.
const verifiedBack = "after healing, it works again: the ensemble is whole and commits writes through each server, " +
	"a client process contends in new sessions, the resource has its state"

// An ending is a fault that ends a process.
type ending struct {
	Process
	inject func(Process, context.Context) (*Harm, error)
}

// Inject implements [Injector].
func (e ending) Inject(ctx context.Context) (*Harm, error) { return e.inject(e.Process, ctx) }

// endingKind completes a kind of faults that end a host's process.
func endingKind(k Kind, inject func(Process, context.Context) (*Harm, error)) Kind {
	k.Family, k.Targets = FamilyProcess, OnServer|OnClient|OnResource
	k.Outage, k.Slot = true, slotProcess
	k.Nature = evidence.FaultNature{Cause: causeKill, SilencesLeader: true, Lingers: true}
	k.injector = onEach(func(r *Run, _ injection, h *ensembles.Host) (Injector, error) {
		return ending{r.Process(h), inject}, nil
	})
	return k
}
