package chaos

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"locklab/ensembles"
	"locklab/harness/history"
)

// A Run is what faults know of a run: where and when they strike, and the parts of the harness that they ask and
// tell.
type Run struct {
	Setting Setting
	Seed    uint64

	Lab      *ensembles.Lab
	Ensemble *ensembles.Ensemble
	// Clients are the hosts of the run's client processes. A lab that several runs share may have more.
	Clients []*ensembles.Host
	// Lock is the path of the run's first lock, whose znodes faults strike.
	Lock string

	Clock    history.Clock
	Journal  Journal
	Witness  Witness
	Roles    Roles
	Sessions Sessions
	Commands Commands
	// Superseded waits until the resource has served a client that makes the victim's next access stale. The victim
	// is the event by which its client reported the fault.
	Superseded func(ctx context.Context, victim history.Event) error
	// Process returns the process of a host, for faults that end it.
	Process func(*ensembles.Host) Process
	// Relay returns the relay through which the process of a client's host connects to a server; not ok if there is
	// none.
	Relay func(client, server *ensembles.Host) (at netip.AddrPort, ok bool)
	// Away returns the clients that have lost their connection, of the processes that run.
	Away func() []string
	// Leads returns the server that leads; nil = the ensemble is asked.
	Leads func(context.Context) (*ensembles.Host, error)
	// Simulated, if it is set, makes the injector of a strike, in the place of the kind's own.
	Simulated func(Strike) (Injector, error)

	slots      slots
	shares     shares
	reconnects reconnects
}

// A Strike is a fault that is to be injected into one host of a simulation.
type Strike struct {
	Fault
	ID   string
	Host string
	// Hosts are all hosts that the fault is injected into.
	Hosts []string
	// Client is the client of the host that the fault is aimed at, or the host's first.
	Client string
}

// A Witness knows what has been seen of a run so far.
type Witness interface {
	// Triggered waits until a client of the host has reported that the fault struck it, and returns that event. An
	// empty host means any.
	Triggered(ctx context.Context, fault, host string) (history.Event, error)
}

// Roles knows which client has a role.
type Roles interface {
	// Find waits until a client is a [TargetHolder], [TargetHeadWaiter] or [TargetWaiter], or has a
	// [TargetHolderServer]. It returns that client or that server, and says why in words. The error wraps [ErrNobody]
	// if there was none for a while.
	Find(ctx context.Context, role Target) (name, why string, err error)
}

// Sessions knows which client owns which session.
type Sessions interface {
	SessionOf(client string) history.SessionID // its last one; 0 if it has had none
}

// The actions that a client takes against itself, as [Commands] and the histories name them.
const (
	StrikeStop   = "stop"   // it stops its whole process
	StrikeExpire = "expire" // it ends its own session at the servers
	StrikeMove   = "move"   // it resets its connection, and keeps away from that server
)

// Commands writes the lines that make client processes take an action against themselves. Clients report it with the
// fault's ID.
type Commands interface {
	// Arm returns the line for a process whose next client that reaches the point takes the action.
	Arm(fault, point, action string) string
	// Strike returns the line for a client that takes the action at once.
	Strike(fault, action, client string) string
	// Undo returns the line that withdraws the command, or undoes its effect.
	Undo(fault, action string) string
}

// An injection is a fault at the moment when it is injected.
type injection struct {
	Fault
	id string
	// hosts are the hosts that its target means now; there is at least one.
	hosts []*ensembles.Host
	// client is the client that the fault strikes, or that has stopped itself for it; empty if the fault strikes the
	// whole process.
	client string
}

// clientOf returns the client of a host that the fault strikes: the one that the target means, or the first.
func (i injection) clientOf(h *ensembles.Host) string {
	if history.HostOf(i.client) == h.Name {
		return i.client
	}
	return h.Name + "/0"
}

// onEach makes an injector for every host of an injection.
func onEach(f func(*Run, injection, *ensembles.Host) (Injector, error)) func(*Run, injection) (Injector, error) {
	return func(r *Run, i injection) (Injector, error) {
		k := i.kind()
		var all together
		for _, h := range i.hosts {
			one, err := f(r, i, h)
			if err != nil {
				return nil, err
			}
			if k.Shared {
				one = sharedFault{Injector: one, key: k.Name + " " + h.Name, among: &r.shares, clock: r.Clock,
					later: i.Trigger != ""}
			}
			all = append(all, one)
		}
		if len(all) == 1 {
			return r.slotted(i, all[0]), nil
		}
		return r.slotted(i, all), nil
	}
}

// slotted keeps an injection from hosts where another fault occupies its slot.
func (r *Run) slotted(i injection, injector Injector) Injector {
	k := i.kind()
	if k.Slot == "" {
		return injector
	}
	var keys []string
	for _, h := range i.hosts {
		keys = append(keys, k.Slot+" of "+h.Name)
	}
	return slotted{Injector: injector, kind: k.Name, keys: keys, among: &r.slots, shared: k.Shared, later: i.Trigger != ""}
}

// Injector chooses the fault's hosts now, and returns what injects the fault into them. That fault is over only when
// the clients are connected again.
func (r *Run) Injector(ctx context.Context, id string, f Fault) (Injector, error) {
	injector, err := r.aimed(ctx, id, f)
	if err != nil {
		return nil, err
	}
	return reconnecting{Injector: injector, among: &r.reconnects, away: r.Away}, nil
}

func (r *Run) aimed(ctx context.Context, id string, f Fault) (Injector, error) {
	if f.Target == TargetHolder {
		return onHolder{run: r, id: id, fault: f}, nil
	}
	a, err := r.aim(ctx, id, f.Target)
	if err != nil {
		return nil, err
	}
	if err := r.recordAim(ctx, id, f, a); err != nil {
		return nil, err
	}
	return r.injector(id, f, a)
}

// injector makes the injector for some hosts. If the fault has a trigger, clients do it to themselves. A kind that
// does not know triggers strikes a client that has stopped itself for a moment.
func (r *Run) injector(id string, f Fault, a aim) (Injector, error) {
	k := f.kind()
	if k.injector == nil {
		return nil, fmt.Errorf("fault %s: unknown kind %q", id, f.Kind)
	}
	i := injection{Fault: f, id: id, hosts: a.hosts, client: a.client}
	name := k.Name + " " + strings.Join(hostNames(a.hosts), ",")
	if r.Simulated != nil {
		simulated := *k
		k = &simulated
		k.Triggers = true
		k.injector = onEach(func(r *Run, i injection, h *ensembles.Host) (Injector, error) {
			return r.Simulated(Strike{i.Fault, i.id, h.Name, hostNames(i.hosts), i.clientOf(h)})
		})
	}
	if f.Trigger == "" || k.Triggers {
		injector, err := k.injector(r, i)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return named(name, injector), nil
	}
	stopped := r.pauseAt(i, a.hosts[0])
	i.Trigger = ""
	atPoint := deferred(func(ctx context.Context) (Injector, error) {
		e, err := r.Witness.Triggered(ctx, id, a.hosts[0].Name)
		if err != nil {
			return nil, err
		}
		i.client = e.Client
		return k.injector(r, i)
	})
	return named(name, atTrigger{stopped, atPoint}), nil
}

// pauseAt stops a client process at the trigger's point.
func (r *Run) pauseAt(i injection, h *ensembles.Host) pauseAtTrigger {
	return pauseAtTrigger{r.byClient(i, h, StrikeStop), i.Trigger}
}

// Steps turns a plan into the steps of a schedule.
func (r *Run) Steps(plan Plan) []Step {
	var steps []Step
	for _, p := range plan.Steps {
		step := r.step(p.ID, p.Fault)
		step.After = p.After
		steps = append(steps, step)
	}
	return steps
}

func (r *Run) step(id string, f Fault) Step {
	until := holdFor(r.Clock, r.Setting.resolve(f.For))
	if f.Until == UntilSuperseded {
		until = func(ctx context.Context, _ *Harm) error { return r.superseded(ctx, id, f.Linger) }
	}
	if hold := until; f.Momentary() {
		// A fault that ends by itself says when it is done.
		until = func(ctx context.Context, h *Harm) error {
			if h.Over != nil {
				return h.Over(ctx)
			}
			return hold(ctx, h)
		}
	}
	return Step{ID: id, Kind: f.Kind, At: f.At, Until: until,
		Injector: func(ctx context.Context) (Injector, error) { return r.Injector(ctx, id, f) }}
}

// supersededCap bounds the wait for a later holder. A session ends within T and a few ticks, and then a waiter is
// granted the lock.
const supersededCap = 60 * time.Second

// superseded waits until another client has taken the place of the fault's victim, and a while longer.
func (r *Run) superseded(ctx context.Context, id string, linger time.Duration) error {
	e, err := r.Witness.Triggered(ctx, id, "") // it was, since the fault is in force
	if err != nil {
		return err
	}
	once, cancel := context.WithTimeout(ctx, supersededCap)
	defer cancel()
	if err := r.Superseded(once, e); err != nil {
		if e.Token == 0 {
			return fmt.Errorf("no other client was granted the lock: %w", err)
		}
		return fmt.Errorf("the resource served no client that makes token %d stale: %w", e.Token, err)
	}
	return waitUntil(once, time.Now().Add(linger))
}

// CleanUp removes what faults have left behind that the hosts' agents do not know of, and says what that was.
func (r *Run) CleanUp(ctx context.Context, plan Plan) (left []string, err error) {
	for _, p := range plan.Steps {
		clean := p.Fault.kind().cleanUp
		if clean == nil {
			continue
		}
		what, cerr := clean(ctx, r, p.ID)
		if what != "" {
			left = append(left, what)
		}
		err = errors.Join(err, cerr)
	}
	return left, err
}

// peers returns every host that communicates with another one.
func (r *Run) peers() []*ensembles.Host {
	return slices.Concat(r.Ensemble.Servers, r.Clients, r.Lab.Hosts(ensembles.Resource))
}
