package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"locklab/ensembles"
	"locklab/harness/history"
)

// An aim is the result of looking up a target.
type aim struct {
	hosts  []*ensembles.Host
	client string // if it is aimed at one
	why    string // it is those, in words
}

// aim looks up which hosts a target means now.
func (r *Run) aim(ctx context.Context, id string, target Target) (aim, error) {
	one := func(name, client, why string) (aim, error) {
		h := r.Lab.Host(name)
		if h == nil {
			return aim{}, fmt.Errorf("the lab has no host %q", name)
		}
		return aim{[]*ensembles.Host{h}, client, why}, nil
	}
	servers := r.Ensemble.Servers
	// Each fault draws its hosts from its own stream, so that one more fault does not change the others.
	draw := rand.New(rand.NewPCG(r.Seed, aimStream(id)))
	switch target {
	case TargetLeader, TargetFollower, TargetFollowers:
		return r.aimByLeader(ctx, draw, target)
	case TargetAny:
		return aim{hosts: drawHosts(draw, servers, 1), why: "drawn"}, nil
	case TargetMajority:
		return aim{hosts: drawHosts(draw, servers, len(servers)/2+1), why: "drawn"}, nil
	case TargetMinority:
		return aim{hosts: drawHosts(draw, servers, (len(servers)-1)/2), why: "drawn"}, nil
	case TargetAnyClient:
		return aim{hosts: drawHosts(draw, r.Clients, 1), why: "drawn"}, nil
	case TargetAll:
		return aim{hosts: servers}, nil
	case TargetAllClients:
		return aim{hosts: r.Clients}, nil
	case TargetResource:
		return aim{hosts: r.Lab.Hosts(ensembles.Resource)}, nil
	case TargetHolder, TargetHolderServer, TargetHeadWaiter, TargetWaiter:
		name, why, err := r.Roles.Find(ctx, target)
		if err != nil {
			return aim{}, err
		}
		return one(history.HostOf(name), name, why)
	}
	return one(string(target), "", "")
}

// aimByLeader finds the leader, one of its followers, or all of them.
func (r *Run) aimByLeader(ctx context.Context, draw *rand.Rand, target Target) (aim, error) {
	leader, err := r.leader(ctx)
	if err != nil {
		return aim{}, fmt.Errorf("%w: %w", ErrNobody, err)
	}
	why := leader.Name + " leads"
	isLeader := func(h *ensembles.Host) bool { return h == leader }
	followers := slices.DeleteFunc(slices.Clone(r.Ensemble.Servers), isLeader)
	switch {
	case target == TargetLeader:
		return aim{hosts: []*ensembles.Host{leader}, why: why}, nil
	case len(followers) == 0:
		return aim{}, fmt.Errorf("%w: no server follows", ErrNobody)
	case target == TargetFollower:
		followers = []*ensembles.Host{followers[draw.IntN(len(followers))]}
	}
	return aim{hosts: followers, why: why}, nil
}

// leader returns the server that leads.
func (r *Run) leader(ctx context.Context) (*ensembles.Host, error) {
	if r.Leads != nil {
		return r.Leads(ctx)
	}
	return r.Ensemble.Leader(ctx)
}

// aimStream returns the stream of random numbers of a fault. It differs from the clients' streams and the schedule's.
func aimStream(id string) uint64 {
	n := uint64(1) << 33
	for _, c := range []byte(id) {
		n = n*31 + uint64(c)
	}
	return n
}

// drawHosts draws n of the hosts, in their order.
func drawHosts(draw *rand.Rand, hosts []*ensembles.Host, n int) []*ensembles.Host {
	var some []*ensembles.Host
	picked := draw.Perm(len(hosts))[:n]
	for i, h := range hosts {
		if slices.Contains(picked, i) {
			some = append(some, h)
		}
	}
	return some
}

func hostNames(hosts []*ensembles.Host) []string {
	var names []string
	for _, h := range hosts {
		names = append(names, h.Name)
	}
	return names
}

// leaderCap is how long servers may take to name the leader, because a stopped server does not answer.
const leaderCap = time.Second

// recordAim records which hosts a fault's target means.
func (r *Run) recordAim(ctx context.Context, id string, f Fault, a aim) error {
	// A fault that strikes the leader affects every session, whatever its target is.
	leads := false
	if slices.ContainsFunc(a.hosts, func(h *ensembles.Host) bool { return h.Role == ensembles.Server }) {
		ctx, cancel := context.WithTimeout(ctx, leaderCap)
		leader, err := r.leader(ctx)
		cancel()
		if err == nil && slices.Contains(a.hosts, leader) {
			leads = true
		}
	}
	says := string(f.Target)
	if a.why != "" {
		says += ": " + a.why
	}
	step := history.FaultStep{Op: history.OpFaultAim, ID: id, Fault: f.Kind, Hosts: hostNames(a.hosts), Leads: leads,
		Detail: says}
	return r.Journal.Record(step.Event(history.Info))
}

// onHolder injects a fault into a client while it holds a lock. It arms the client that holds one now, and that
// client stops itself in its next hold, because polling would miss holds of milliseconds. If that client does not
// hold again, onHolder arms the next holder.
type onHolder struct {
	run   *Run
	id    string
	fault Fault
}

// Inject implements [Injector].
func (o onHolder) Inject(ctx context.Context) (*Harm, error) {
	r := o.run
	for {
		a, err := r.aim(ctx, o.id, TargetHolder)
		if err != nil {
			return nil, err
		}
		f := o.fault
		if f.Trigger == "" {
			f.Trigger = r.Setting.Points[0]
		}
		injector, err := r.injector(o.id, f, a)
		if err != nil {
			return nil, err
		}
		if err := r.recordAim(ctx, o.id, f, a); err != nil {
			return nil, err
		}
		// A client that does not hold again within a session timeout is stopped, or cut off.
		once, cancel := context.WithTimeout(ctx, r.Setting.Timeout)
		harm, err := injector.Inject(once)
		cancel()
		if harm != nil || ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return harm, err
		}
	}
}
