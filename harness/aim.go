package harness

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"locklab/chaos"
	"locklab/ensembles"
	"locklab/harness/history"
	"locklab/harness/scenario"
)

// An aimed target is what it comes to now.
type aimed struct {
	hosts  []*ensembles.Host
	client string // if it is aimed at one
	why    string // it is those, in words
}

// aim finds what a target comes to now.
func (r *run) aim(ctx context.Context, id, target string) (a aimed, err error) {
	e := r.stage.ensemble
	one := func(name, client, why string) (aimed, error) {
		h := r.stage.lab.Host(name)
		if h == nil {
			return aimed{}, fmt.Errorf("the lab has no host %q", name)
		}
		return aimed{[]*ensembles.Host{h}, client, why}, nil
	}
	// What is drawn is drawn by the fault, so that one more fault does not change the others.
	draw := rand.New(rand.NewPCG(r.sc.Seed, aimStream(id)))
	switch target {
	case scenario.TargetLeader, scenario.TargetFollower, scenario.TargetFollowers:
		leader, err := e.Leader(ctx)
		if err != nil {
			return aimed{}, fmt.Errorf("%w: %w", chaos.ErrNobody, err)
		}
		followers := slices.DeleteFunc(slices.Clone(e.Servers), func(h *ensembles.Host) bool { return h == leader })
		switch {
		case target == scenario.TargetLeader:
			return aimed{hosts: []*ensembles.Host{leader}, why: leader.Name + " leads"}, nil
		case len(followers) == 0:
			return aimed{}, fmt.Errorf("%w: no server follows", chaos.ErrNobody)
		case target == scenario.TargetFollower:
			followers = []*ensembles.Host{followers[draw.IntN(len(followers))]}
		}
		return aimed{hosts: followers, why: leader.Name + " leads"}, nil
	case scenario.TargetAny, scenario.TargetMajority, scenario.TargetMinority:
		n := map[string]int{scenario.TargetAny: 1, scenario.TargetMajority: len(e.Servers)/2 + 1, scenario.TargetMinority: (len(e.Servers) - 1) / 2}[target]
		return aimed{hosts: drawHosts(draw, e.Servers, n), why: "drawn"}, nil
	case scenario.TargetAnyClient:
		return aimed{hosts: drawHosts(draw, r.clientHosts(), 1), why: "drawn"}, nil
	case scenario.TargetAll:
		return aimed{hosts: e.Servers}, nil
	case scenario.TargetAllClients:
		return aimed{hosts: r.clientHosts()}, nil
	case scenario.TargetResource:
		return one(resourceHost, "", "")
	case scenario.TargetHolder, scenario.TargetHolderServer, scenario.TargetHeadWaiter, scenario.TargetWaiter:
		who, why, err := r.live.whoIs(ctx, target)
		if err != nil {
			return aimed{}, err
		}
		return one(hostOf(who), who, why)
	}
	return one(target, "", "")
}

// aimStream is the stream of random numbers of a fault: beyond those of clients, and not the schedule's.
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

// leaderCap is how long servers may take to say who leads; one that is stopped does not answer.
const leaderCap = time.Second

// told records what a fault's target came to.
func (r *run) told(ctx context.Context, id string, f scenario.Fault, a aimed) error {
	var names []string
	for _, h := range a.hosts {
		names = append(names, h.Name)
	}
	// A fault that strikes the leader stands in the way of every session, whatever it is aimed at.
	var leads int64
	if slices.ContainsFunc(a.hosts, func(h *ensembles.Host) bool { return h.Role == ensembles.Server }) {
		ctx, cancel := context.WithTimeout(ctx, leaderCap)
		leader, err := r.stage.ensemble.Leader(ctx)
		cancel()
		if err == nil && slices.Contains(a.hosts, leader) {
			leads = 1
		}
	}
	says := f.Target
	if a.why != "" {
		says += ": " + a.why
	}
	return r.note(history.Event{Op: history.OpFaultAim, Fault: id, Mode: f.Kind, Target: strings.Join(names, ","), Value: leads, Detail: says})
}

// hitHolder is a fault of whoever holds a lock. The client that holds one now is armed, and stops itself
// in its next hold: polling would miss holds of milliseconds. If its turn does not come, the next one is.
type hitHolder struct {
	run *run
	id  string
	f   scenario.Fault
}

// Inject implements chaos.Fault.
func (h hitHolder) Inject(ctx context.Context) (*chaos.Harm, error) {
	for {
		a, err := h.run.aim(ctx, h.id, scenario.TargetHolder)
		if err != nil {
			return nil, err
		}
		f := h.f
		if f.Trigger == "" {
			f.Trigger = h.run.sc.Points()[0]
		}
		fault, err := h.run.triggered(h.id, f, a)
		if err != nil {
			return nil, err
		}
		if err := h.run.told(ctx, h.id, f, a); err != nil {
			return nil, err
		}
		// Who held and does not come to hold again within a session timeout is stopped, or cut off.
		once, cancel := context.WithTimeout(ctx, h.run.sc.Negotiated())
		harm, err := fault.Inject(once)
		cancel()
		if harm != nil || ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return harm, err
		}
	}
}

var _ chaos.Fault = hitHolder{}
