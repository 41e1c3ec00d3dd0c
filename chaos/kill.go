package chaos

import (
	"context"
	"fmt"

	"locklab/ensembles"
	"locklab/harness/check"
)

func killKind() Kind {
	return Kind{
		Name: "kill", Family: FamilyProcess, Targets: OnServer | OnClient | OnResource,
		Outage: true, Slot: slotProcess, Shared: true,
		Nature:   check.FaultNature{Cause: causeKill, SilencesLeader: true, Lingers: true},
		Does:     "SIGKILL of a client process, a server or the resource; started again to heal",
		Verified: "the process is gone and does not answer; " + verifiedBack,
		Examples: []string{"target: c1", "target: zk1", "target: leader", "target: resource"},
		injector: onEach(func(r *Run, _ injection, h *ensembles.Host) (Injector, error) {
			return kill{r.Process(h)}, nil
		}),
	}
}

// kill ends a process without warning (SIGKILL) and heals by starting it again at the same address. A server finds
// its data again.
type kill struct{ Process }

// Inject kills the process and returns once it is gone.
func (k kill) Inject(ctx context.Context) (*Harm, error) {
	at, err := carryOut(ctx, k.Host.Agent.Kill, k.start)
	if err != nil {
		return nil, fmt.Errorf("kill %s: %w", k.Host.Name, err)
	}
	return k.harm(at), nil
}
