package chaos

import (
	"context"
	"fmt"
	"time"

	"locklab/ensembles"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
)

func pauseKind() Kind {
	return Kind{
		Name: "pause", Family: FamilyProcess, Targets: OnServer | OnClient | OnResource,
		Outage: true, Triggers: true, Slot: slotProcess, Shared: true,
		Nature: evidence.FaultNature{SilencesLeader: true},
		Does: "SIGSTOP of a client process, a server or the resource, and SIGCONT to heal; at a time, or by a " +
			"`trigger`",
		Verified: "every thread of the process is stopped; after healing, the process runs",
		Examples: []string{"target: c1", "target: zk1"},
		injector: onEach(func(r *Run, i injection, h *ensembles.Host) (Injector, error) {
			if i.Trigger != "" {
				return r.pauseAt(i, h), nil
			}
			p := pause{host: h}
			if h.Role == ensembles.Server {
				p.ensemble = r.Ensemble
			}
			return p, nil
		}),
	}
}

// pause stops a host's whole process (SIGSTOP). A long garbage collection, a swapped-out machine and a live migration
// look like this from outside. The process itself notices nothing, so a client still believes that it holds its lock.
type pause struct {
	host *ensembles.Host
	// ensemble must be whole after a server has been healed; nil = it is enough that the process runs.
	ensemble *ensembles.Ensemble
}

// Inject stops the process and returns once every thread of it has stopped.
func (p pause) Inject(ctx context.Context) (*Harm, error) {
	at, err := carryOut(ctx, p.host.Agent.Pause, pausedHarm(p.host, 0).Heal)
	if err != nil {
		return nil, err
	}
	h := pausedHarm(p.host, at)
	if p.ensemble != nil {
		// A server that was stopped for long has lost its place in the ensemble, and a leader has lost its followers.
		h.VerifyHealed = thenReady(p.ensemble, h.VerifyHealed)
	}
	return h, nil
}

// pausedHarm returns the harm of a process that has been stopped at that time, by a signal or by itself.
func pausedHarm(h *ensembles.Host, at int64) *Harm {
	return &Harm{At: at, Hosts: []string{h.Name},
		Verify: func(ctx context.Context) error {
			st, err := h.Agent.Status(ctx)
			if err == nil && st.State != history.ProcessStopped {
				err = fmt.Errorf("process of %s is %s, not stopped", h.Name, st.State)
			}
			return err
		},
		Heal: func(ctx context.Context) (int64, error) {
			st, err := h.Agent.Resume(ctx)
			return st.At, err
		},
		VerifyHealed: func(ctx context.Context) error {
			return ensembles.Poll(ctx, pollEvery, "process of "+h.Name+" to go on", func() error {
				st, err := h.Agent.Status(ctx)
				if err == nil && st.State == history.ProcessStopped {
					err = fmt.Errorf("process of %s is still stopped", h.Name)
				}
				return err
			})
		}}
}

// pollEvery is how often an effect is looked for.
const pollEvery = 20 * time.Millisecond
