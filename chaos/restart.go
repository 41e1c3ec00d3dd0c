package chaos

import (
	"context"
	"fmt"
	"time"

	"locklab/ensembles"
	"locklab/harness/check"
)

func restartKind() Kind {
	return Kind{
		Name: "restart", Family: FamilyProcess, Targets: OnServer | OnClient | OnResource,
		Outage: true, Momentary: true, Slot: slotProcess, Room: 5 * time.Second,
		Nature:   check.FaultNature{Cause: causeKill, SilencesLeader: true, Lingers: true},
		Does:     "stops the process in an orderly way and starts it again at once",
		Verified: "another process runs; after that, as for `kill`",
		Examples: []string{"target: c1", "target: zk1", "target: leader"},
		injector: onEach(func(r *Run, _ injection, h *ensembles.Host) (Injector, error) {
			return restart{r.Process(h)}, nil
		}),
	}
}

// restart ends a process in an orderly way and starts it again at once, as an upgrade does.
type restart struct{ Process }

// Inject returns once the process has been started again. Healing only has to wait until the process works again.
func (r restart) Inject(ctx context.Context) (*Harm, error) {
	before, err := r.Host.Agent.Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("restart %s: %w", r.Host.Name, err)
	}
	at, err := carryOut(ctx, r.Host.Agent.Stop, r.start)
	if err != nil {
		return nil, fmt.Errorf("restart %s: %w", r.Host.Name, err)
	}
	h := r.harm(at)
	// The restart is verified by the process's new number.
	h.Verify = func(ctx context.Context) error {
		now, err := r.Host.Agent.Status(ctx)
		if err == nil && (now.Starts <= before.Starts || now.PID == before.PID) {
			err = fmt.Errorf("%s still runs process %d", r.Host.Name, before.PID)
		}
		return err
	}
	back, cancel := context.WithTimeout(context.WithoutCancel(ctx), healCap)
	defer cancel()
	if _, err := r.start(back); err != nil {
		return h, fmt.Errorf("restart %s: %w", r.Host.Name, err)
	}
	return h, nil
}
