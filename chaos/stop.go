package chaos

import (
	"context"
	"fmt"

	"locklab/ensembles"
	"locklab/harness/check"
)

func stopKind() Kind {
	return Kind{
		Name: "stop", Family: FamilyProcess, Targets: OnServer | OnClient | OnResource,
		Outage: true, Slot: slotProcess,
		Nature: check.FaultNature{Cause: causeKill, SilencesLeader: true, Lingers: true},
		Does: "stops a client process, a server or the resource in an orderly way (SIGTERM, and SIGKILL after a " +
			"grace period); started again to heal",
		Verified: "as for `kill`",
		Examples: []string{"target: c1", "target: zk1"},
		injector: onEach(func(r *Run, _ injection, h *ensembles.Host) (Injector, error) {
			return stop{r.Process(h)}, nil
		}),
	}
}

// stop asks a process to end (SIGTERM), as an orderly shutdown does, and kills it only after a grace period. It heals
// by starting the process again.
type stop struct{ Process }

// Inject asks the process to end and returns once it is gone.
func (s stop) Inject(ctx context.Context) (*Harm, error) {
	at, err := carryOut(ctx, s.Host.Agent.Stop, s.start)
	if err != nil {
		return nil, fmt.Errorf("stop %s: %w", s.Host.Name, err)
	}
	return s.harm(at), nil
}
