package harness

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"locklab/chaos"
	"locklab/ensembles"
	"locklab/harness/check"
	"locklab/harness/history"
	"locklab/harness/scenario"
	"locklab/workloads/client"
	"locklab/workloads/resource"
)

// faultID names the i-th fault of a scenario in its history.
func faultID(i int) string { return fmt.Sprintf("f%d", i+1) }

// planned is what the scenario means to do, for the check of what was done.
func planned(sc *scenario.Scenario) []check.PlannedFault {
	var all []check.PlannedFault
	for i, f := range sc.Faults {
		p := check.PlannedFault{ID: faultID(i), Kind: f.Kind, Target: f.Target, HitsHolder: f.Trigger != ""}
		if f.HitsRole() {
			p.Role, p.Target = f.Target, "" // the host is known when it strikes
		}
		all = append(all, p)
	}
	return all
}

// steps turns the scenario's faults into a schedule's.
func (r *run) steps() []chaos.Step {
	var steps []chaos.Step
	for i, f := range r.sc.Faults {
		step := chaos.Step{ID: faultID(i), Kind: f.Kind, At: f.At, Until: chaos.Hold(r.stage.clock, r.sc.Resolve(f.For))}
		if f.Until == scenario.UntilSuperseded {
			step.Until = func(ctx context.Context, _ *chaos.Harm) error {
				e, err := r.live.Triggered(ctx, step.ID) // it was: the fault is in force
				if err != nil {
					return err
				}
				ctx, cancel := context.WithTimeout(ctx, supersededCap)
				defer cancel()
				if err := r.live.Superseded(ctx, e.Lock, e.Token); err != nil {
					return fmt.Errorf("the resource served no token above %d: %w", e.Token, err)
				}
				if !waitUntil(ctx, time.Now().Add(f.Linger)) {
					return context.Cause(ctx)
				}
				return nil
			}
		}
		step.Fault = func(ctx context.Context) (chaos.Fault, error) { return r.fault(ctx, step.ID, f) }
		steps = append(steps, step)
	}
	return steps
}

// supersededCap bounds the wait for a later token: a session ends within T and a
// few ticks, and a waiter is there.
const supersededCap = 60 * time.Second

// fault chooses the fault's hosts, now.
func (r *run) fault(ctx context.Context, id string, f scenario.Fault) (chaos.Fault, error) {
	host, err := r.target(ctx, f.Target)
	if err != nil {
		return nil, err
	}
	switch f.Kind {
	case scenario.FaultPause:
		if f.Trigger != "" {
			return chaos.PauseAtTrigger{ID: id, Host: host, Point: f.Trigger, Witness: r.live,
				Arm: client.FormatArm(id, f.Trigger), Disarm: client.FormatDisarm(id)}, nil
		}
		return chaos.Pause{Host: host}, nil
	case scenario.FaultKill:
		return chaos.Kill{Host: host, Ensemble: r.stage.ensemble}, nil
	case scenario.FaultPartition:
		return r.partition(id, host), nil
	}
	return nil, fmt.Errorf("fault %s: unknown kind %q", id, f.Kind)
}

// partition cuts a host off from the servers. A server's clients still reach it;
// a client process still reaches the resource.
func (r *run) partition(id string, host *ensembles.Host) chaos.Fault {
	p := chaos.Partition{ID: id, Host: host, Ensemble: r.stage.ensemble}
	for _, s := range r.stage.ensemble.Servers {
		if s != host {
			p.From = append(p.From, s)
		}
	}
	if host.Role == ensembles.Server {
		p.Reach = r.clientHosts()
	} else {
		p.Reaches = []netip.AddrPort{r.resourceAddress()}
	}
	return p
}

func (r *run) resourceAddress() netip.AddrPort {
	return netip.AddrPortFrom(r.stage.lab.Host(resourceHost).Address, resource.Port)
}

// target finds the host that a scenario names, or that has the role now.
func (r *run) target(ctx context.Context, name string) (*ensembles.Host, error) {
	e := r.stage.ensemble
	switch name {
	case scenario.TargetLeader, scenario.TargetFollower:
		leader, err := e.Leader(ctx)
		if err != nil || name == scenario.TargetLeader {
			return leader, err
		}
		for _, h := range e.Servers {
			if h != leader {
				return h, nil
			}
		}
		return nil, fmt.Errorf("no server follows")
	}
	if h := r.stage.lab.Host(name); h != nil {
		return h, nil
	}
	return nil, fmt.Errorf("the lab has no host %q", name)
}

var _ chaos.Witness = (*live)(nil)
var _ chaos.Journal = (*history.Recorder)(nil)
