package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
	"locklab/harness/settings"
)

func latencyKind() Kind {
	return Kind{
		Name: "latency", Family: FamilyPackets, Targets: OnServer | OnClient,
		Nature: evidence.FaultNature{Cause: causePartition, HampersLeader: true, Passes: true},
		Does: "delays packets in each direction, varied by up to `jitter`. Uses netem where the kernel has it. " +
			"Otherwise, the links of clients that it may strike go through a relay from the start of the run; " +
			"connections are then made without delay, and only the data on them is delayed",
		Verified: "a request to each server takes that much longer; after healing, it does not",
		Examples: []string{"target: c1, from: servers, latency: 100ms, jitter: 30ms",
			"target: zk1, from: clients, latency: 100ms", "target: zk1, from: servers, latency: 50ms"},
		Params: latencyParams{},
		// Packets between servers cannot go through relays.
		Some: Need{Capability: agent.CapNetem, Which: "between servers",
			Of: func(f Fault) bool { return f.HitsServer() && linksOf(f) != FromClients }},
		Relayed: func(f Fault) bool { return f.HitsClient() || linksOf(f) == FromClients },
		draw:    drawLatency,
		check:   checkLatency,
		injector: func(r *Run, i injection) (Injector, error) {
			return deferred(func(ctx context.Context) (Injector, error) { return r.latency(ctx, i) }), nil
		},
	}
}

// latencyParams are the keys that only a latency has.
type latencyParams struct {
	LinkParams
	Latency time.Duration `key:"latency" help:"how much longer packets take, in each direction" required:"true"`
	Jitter  time.Duration `key:"jitter" help:"by how much the latency varies, at most"`
}

// delays is what jitter leaves of the delays of a request and its answer.
func (p latencyParams) delays() time.Duration { return 2 * (p.Latency - p.Jitter) }

// maxLatency is the longest that a packet may be delayed, because a round trip to a server has to be measured within
// the time for verifying a fault.
const maxLatency = maxTrip / 2

// drawLatency draws a latency of up to a session timeout. Servers become slow for clients only, because that does not
// need netem.
func drawLatency(r *rand.Rand, s *Setting, f *Fault) {
	p := latencyParams{LinkParams: drawLinks(r, f)}
	if f.HitsServer() {
		p.From = FromClients
	}
	least, most := 10*time.Millisecond, min(s.Timeout, maxLatency*2/3)
	p.Latency = (least + time.Duration(r.Float64()*float64(most-least))).Round(time.Millisecond)
	p.Jitter = time.Duration(r.Float64() * float64(p.Latency) / 2).Round(time.Millisecond)
	f.Params = p
}

func checkLatency(c *checker, f Fault) {
	checkLinks(c, f)
	p := params[latencyParams](f)
	switch {
	case p.Latency < 0 || p.Latency+max(p.Jitter, 0) > maxLatency:
		c.refuse(at("latency", "jitter"), "latency: 100ms",
			"a latency of %s and %s of jitter are not between 0 and %s together", p.Latency, p.Jitter, maxLatency)
	case p.Jitter < 0 || p.Jitter > p.Latency:
		c.refuse(at("jitter", "latency"), "jitter: "+settings.FormatDuration(max(p.Latency, 0))+", or less",
			"packets cannot come %s early that are %s late", p.Jitter, p.Latency)
	}
}

// latency delays each link at its client if it has one, because a relay may have to do it there.
func (r *Run) latency(ctx context.Context, i injection) (Injector, error) {
	p := params[latencyParams](i.Fault)
	peers, err := r.peersOf(ctx, i)
	if err != nil {
		return nil, err
	}
	if p.From == FromClients {
		i.hosts, peers = peers, i.hosts
	}
	return onEach(func(r *Run, i injection, h *ensembles.Host) (Injector, error) {
		l := latency{ends: ends{i.id, h, peers, r.Ensemble}, delay: p.Latency, jitter: p.Jitter}
		for _, peer := range peers {
			if at, ok := r.Relay(h, peer); ok {
				l.relays = append(l.relays, at)
			}
		}
		return l, nil
	})(r, i)
}

// latency delays every packet between a host and its peers, which are ZooKeeper servers, in each direction. The
// kernels at both ends do it where they have netem. Elsewhere, a relay on the host can do it for a client process that
// connects through one (see [agent.Client.Relay]). Otherwise, the fault is unsupported.
type latency struct {
	ends
	// relays, one for each of the peers, are the addresses that the host's process connects to instead.
	relays []netip.AddrPort
	// Packets take delay longer in each direction, give or take jitter.
	delay, jitter time.Duration
}

// Inject puts the delays in force.
func (l latency) Inject(ctx context.Context) (*Harm, error) {
	if len(l.relays) > 0 && len(l.relays) != len(l.peers) {
		return nil, fmt.Errorf("%d relays to %d servers", len(l.relays), len(l.peers))
	}
	if 2*(l.delay+l.jitter) > maxTrip {
		return nil, fmt.Errorf("%v ± %v is too long to be verified, want %v together", l.delay, l.jitter, maxTrip/2)
	}
	delay := func(at *ensembles.Host, to ...*ensembles.Host) rule {
		return delayOn(at, agent.Delay{ID: l.id, Peers: addresses(to), Latency: l.delay, Jitter: l.jitter})
	}
	rules := []rule{delay(l.host, l.peers...)}
	if len(l.relays) == 0 {
		for _, p := range l.peers {
			rules = append(rules, delay(p, l.host))
		}
	}
	return linkFault{rules: rules, struck: l.links(), ensemble: l.ensemble,
		shows: func(ctx context.Context) error { return l.verify(ctx, rules) },
		free:  func(ctx context.Context) error { return l.free(ctx, rules) }}.Inject(ctx)
}

// maxTrip is the longest that a request and its answer may be delayed. A longer delay could not be verified within
// verifyCap.
const maxTrip = 9 * time.Second

// trips sends each server a request from the host, and returns how long each answer took. A server that is down or
// cut off says nothing about delays.
func (l latency) trips(ctx context.Context) (map[*ensembles.Host]time.Duration, error) {
	to := slices.Clone(l.relays)
	wait := 2 * (l.delay + l.jitter)
	if len(to) == 0 {
		for _, p := range l.peers {
			to = append(to, server(p))
		}
		wait *= 2 // the connection's own trip is late, too
	}
	r, err := l.host.Agent.AskProbe(ctx, wait+probeTimeout, to...)
	if err != nil {
		return nil, err
	}
	took := map[*ensembles.Host]time.Duration{}
	for i, e := range r.Errors {
		if e == "" {
			took[l.peers[i]] = r.Took[i]
		} else {
			err = errors.Join(err, fmt.Errorf("%s gets no answer from %s: %s", l.host.Name, l.peers[i].Name, e))
		}
	}
	if len(took) > 0 {
		err = nil
	}
	return took, err
}

// looks is how often each server is asked, at the same time. With a jitter as large as the delay, the mean of so many
// answers is below one delay by chance once in ten thousand times.
const looks = 10

// verify asks every server until each has answered, is down, or is cut off, because a server that is starting, or
// that has lost the others, accepts no connections yet. Each answer must take at least what jitter leaves of two
// delays, and the mean of all answers must take at least one delay. A single answer proves nothing if jitter is as
// large as the delay.
func (l latency) verify(ctx context.Context, own []rule) error {
	var wrong error
	err := ensembles.Poll(ctx, pollEvery, "answers to "+l.host.Name, func() (silent error) {
		silent, wrong = l.ask(ctx, own)
		if wrong != nil {
			return nil // what another look found would not make it right
		}
		return silent
	})
	return errors.Join(wrong, err)
}

// ask looks once. It returns the servers that do not answer although nothing explains it, and the answers that are
// wrong.
func (l latency) ask(ctx context.Context, own []rule) (silent, wrong error) {
	all, errs := make([]map[*ensembles.Host]time.Duration, looks), make([]error, looks)
	_ = atOnce(looks, func(i int) error {
		all[i], errs[i] = l.trips(ctx)
		return nil // one look that found nothing says nothing yet
	})
	for _, p := range l.peers {
		var took []time.Duration
		for _, trips := range all {
			if t, ok := trips[p]; ok {
				took = append(took, t)
			}
		}
		if len(took) > 0 {
			wrong = errors.Join(wrong, l.delayed(p, took))
			continue
		}
		// A server that is stopped or down says nothing about delays.
		if st, err := p.Agent.Status(ctx); err == nil &&
			(st.State == history.ProcessStopped || st.State == history.ProcessExited) {
			continue
		}
		none := errors.Join(fmt.Errorf("%s gets no answer from %s", l.host.Name, p.Name), errors.Join(errs...))
		silent = errors.Join(silent, excuse(ctx, own, hostLink{l.host, p}, none, nil))
	}
	return silent, wrong
}

// delayed reports answers of a server that were not delayed.
func (l latency) delayed(p *ensembles.Host, took []time.Duration) error {
	var sum time.Duration
	for _, t := range took {
		sum += t
	}
	least, mean := 2*(l.delay-l.jitter), sum/time.Duration(len(took))
	if slices.Min(took) < least || mean < l.delay {
		return fmt.Errorf("%s answers %s after %v, want %v at least and %v in the mean",
			p.Name, l.host.Name, took, max(0, least), l.delay)
	}
	return nil
}

// free looks once, and reports answers that are still delayed.
func (l latency) free(ctx context.Context, own []rule) error {
	trips, err := l.trips(ctx)
	for p, took := range trips {
		if took < l.delay {
			continue
		}
		slow := fmt.Errorf("%s answers %s after %v", p.Name, l.host.Name, took)
		err = errors.Join(err, excuse(ctx, own, hostLink{l.host, p}, slow, nil))
	}
	return err
}
