package harness

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"locklab/chaos"
	"locklab/ensembles"
	"locklab/harness/check"
	"locklab/harness/history"
	"locklab/harness/scenario"
	"locklab/workloads/client"
)

// causeOf says what damage of a kind of fault is put down to.
func causeOf(kind string) string {
	all := scenario.FaultKinds()
	i := slices.IndexFunc(all, func(k scenario.FaultKind) bool { return k.Name == kind })
	switch {
	case kind == scenario.FaultPause || i < 0:
		return kind
	case all[i].Family == scenario.FamilyProcess:
		return scenario.FaultKill
	case all[i].Family == scenario.FamilyPartition, all[i].Family == scenario.FamilyPackets:
		return scenario.FaultPartition
	case all[i].Family == scenario.FamilySession, all[i].Family == scenario.FamilyZnode:
		return check.CauseAdministrator
	}
	return kind
}

// steps turns the scenario's faults into a schedule's.
func (r *run) steps() []chaos.Step {
	var steps []chaos.Step
	for _, p := range r.plan.Steps {
		f := p.Fault
		step := chaos.Step{ID: p.ID, Kind: f.Kind, At: f.At, Until: chaos.Hold(r.stage.clock, r.sc.Resolve(f.For))}
		if f.Until == scenario.UntilSuperseded {
			step.Until = func(ctx context.Context, _ *chaos.Harm) error {
				e, err := r.live.Triggered(ctx, step.ID, "") // it was: the fault is in force
				if err != nil {
					return err
				}
				ctx, cancel := context.WithTimeout(ctx, supersededCap)
				defer cancel()
				if err := r.live.superseded(ctx, e); err != nil {
					return fmt.Errorf("the resource served nobody who makes token %d stale: %w", e.Token, err)
				}
				if !waitUntil(ctx, time.Now().Add(f.Linger)) {
					return context.Cause(ctx)
				}
				return nil
			}
		}
		if hold := step.Until; f.Momentary() {
			// What takes its own time is done when it says so.
			step.Until = func(ctx context.Context, h *chaos.Harm) error {
				if h.Over != nil {
					return h.Over(ctx)
				}
				return hold(ctx, h)
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

// A strike is a fault at the moment at which it is to be done.
type strike struct {
	scenario.Fault
	id string
	// hosts are those that its target comes to now; at least one.
	hosts []*ensembles.Host
	// client is the one that it is aimed at, or that has stopped itself for it; empty if it is
	// of the whole process.
	client string
}

// of returns the client of a host that the strike is of: the one aimed at, or the first.
func (s strike) of(h *ensembles.Host) string {
	if hostOf(s.client) == h.Name {
		return s.client
	}
	return h.Name + "/0"
}

// A constructor makes the fault of a strike. An error that wraps [chaos.ErrUnsupported] says
// that it cannot be done here.
type constructor func(r *run, s strike) (chaos.Fault, error)

// constructors has that of every kind of fault, by family; see [scenario.FaultKinds].
var constructors = []map[string]constructor{
	processFaults,
	partitionFaults,
	sessionFaults,
	znodeFaults,
	storageFaults,
	packetFaults,
}

// onEach makes a fault of every host of a strike.
func onEach(f func(r *run, s strike, h *ensembles.Host) (chaos.Fault, error)) constructor {
	return func(r *run, s strike) (chaos.Fault, error) {
		var all chaos.Together
		for _, h := range s.hosts {
			one, err := f(r, s, h)
			if err != nil {
				return nil, err
			}
			if scenario.Shared(s.Kind) {
				one = chaos.Share{Fault: one, Key: s.Kind + " " + h.Name, Among: &r.shares, Later: s.Trigger != ""}
			}
			all = append(all, one)
		}
		if len(all) == 1 {
			return r.slotted(s, all[0]), nil
		}
		return r.slotted(s, all), nil
	}
}

// slotted keeps a strike from hosts of which another fault has what it needs for itself.
func (r *run) slotted(s strike, f chaos.Fault) chaos.Fault {
	slot := scenario.SlotOf(s.Kind)
	if slot == "" {
		return f
	}
	var keys []string
	for _, h := range s.hosts {
		keys = append(keys, slot+" of "+h.Name)
	}
	return chaos.Slotted{Fault: f, Kind: s.Kind, Keys: keys, Among: &r.slots, Shared: scenario.Shared(s.Kind), Later: s.Trigger != ""}
}

// fault chooses the fault's hosts, now.
func (r *run) fault(ctx context.Context, id string, f scenario.Fault) (chaos.Fault, error) {
	aimed, err := r.aimedFault(ctx, id, f)
	if err != nil {
		return nil, err
	}
	return chaos.Reconnecting{Fault: aimed, Among: &r.reconnects}, nil
}

func (r *run) aimedFault(ctx context.Context, id string, f scenario.Fault) (chaos.Fault, error) {
	if f.Target == scenario.TargetHolder {
		return hitHolder{run: r, id: id, f: f}, nil
	}
	a, err := r.aim(ctx, id, f.Target)
	if err != nil {
		return nil, err
	}
	if err := r.told(ctx, id, f, a); err != nil {
		return nil, err
	}
	return r.triggered(id, f, a)
}

// triggered makes a fault of hosts, which clients bring upon themselves if it has a trigger. Kinds that know
// nothing of triggers strike a client that has stopped itself for a moment.
func (r *run) triggered(id string, f scenario.Fault, a aimed) (chaos.Fault, error) {
	for _, family := range constructors {
		make := family[f.Kind]
		if make == nil {
			continue
		}
		s := strike{Fault: f, id: id, hosts: a.hosts, client: a.client}
		if f.Trigger == "" || scenario.Triggers(f.Kind) {
			return make(r, s)
		}
		s.Trigger = ""
		struck := linkFault(func(context.Context) (chaos.Fault, error) {
			s.client = r.live.struckAt(id, a.hosts[0].Name)
			return make(r, s)
		})
		return chaos.AtTrigger{PauseAtTrigger: r.pauseAt(id, f.Trigger, a.hosts[0]), Fault: struck}, nil
	}
	return nil, fmt.Errorf("fault %s: unknown kind %q", id, f.Kind)
}

func (r *run) pauseAt(id, point string, h *ensembles.Host) chaos.PauseAtTrigger {
	return chaos.PauseAtTrigger{ID: id, Host: h, Point: point, Witness: r.live, Arm: client.FormatArm(id, point), Disarm: client.FormatDisarm(id)}
}

// unsupported refuses a scenario whose faults need what the machine is known to lack.
func unsupported(sc *scenario.Scenario, lacking map[string]string) error {
	if all := sc.Lacking(lacking); all != nil {
		return fmt.Errorf("%w: %s", chaos.ErrUnsupported, strings.Join(all, "; "))
	}
	return nil
}

var _ chaos.Witness = (*live)(nil)
var _ chaos.Journal = (*history.Recorder)(nil)
