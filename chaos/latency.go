package chaos

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/harness/history"
)

// Latency holds back every packet between a host and ZooKeeper servers, each way.
// The kernels of both ends do that where they have netem; elsewhere, a relay at the
// host can, for a client process that goes through one (see [agent.Client.Relay]).
// Else it is unsupported.
type Latency struct {
	ID    string
	Host  *ensembles.Host
	Peers []*ensembles.Host
	// Relays, one for each of Peers, are where the host's process connects to instead.
	Relays []netip.AddrPort
	// Each way takes Delay longer, give or take Jitter.
	Delay, Jitter time.Duration
	// Ensemble must be whole after healing.
	Ensemble *ensembles.Ensemble
}

// Inject applies the delays.
func (l Latency) Inject(ctx context.Context) (*Harm, error) {
	if len(l.Relays) > 0 && len(l.Relays) != len(l.Peers) {
		return nil, fmt.Errorf("latency at %s: %d relays to %d servers", l.Host.Name, len(l.Relays), len(l.Peers))
	}
	if 2*(l.Delay+l.Jitter) > maxTrip {
		return nil, fmt.Errorf("latency at %s: %v ± %v is too long to be verified, want %v together", l.Host.Name, l.Delay, l.Jitter, maxTrip/2)
	}
	do := []order{l.order(l.Host, l.Peers)}
	for _, p := range l.ends()[1:] {
		do = append(do, l.order(p, []*ensembles.Host{l.Host}))
	}
	hosts := hit(ctx, l.Ensemble, Between([]*ensembles.Host{l.Host}, l.Peers))
	at, err := tellAll(ctx, do, l.heal)
	if err != nil {
		return nil, fmt.Errorf("latency at %s: %w", l.Host.Name, err)
	}
	return &Harm{At: at, Hosts: hosts, Verify: l.verify, Heal: l.heal, VerifyHealed: l.verifyHealed}, nil
}

// ends is the hosts that hold packets back, the fault's own first.
func (l Latency) ends() []*ensembles.Host {
	hosts := []*ensembles.Host{l.Host}
	if len(l.Relays) == 0 {
		hosts = append(hosts, l.Peers...)
	}
	return hosts
}

func (l Latency) order(h *ensembles.Host, to []*ensembles.Host) order {
	d := agent.Delay{ID: l.ID, Peers: addresses(to), Latency: l.Delay, Jitter: l.Jitter}
	return func(ctx context.Context) (agent.Stamp, error) { return h.Agent.Delay(ctx, d) }
}

// rules is the delays' ids where they are.
func (l Latency) rules() []rule {
	var all []rule
	for _, h := range l.ends() {
		all = append(all, rule{h, agent.Block{ID: l.ID}})
	}
	return all
}

func (l Latency) heal(ctx context.Context) (int64, error) { return remove(ctx, l.rules()) }

// maxTrip is the longest that a question and its answer may be held back: longer could
// not be verified within verifyCap.
const maxTrip = 9 * time.Second

// trips asks each server something from the host, and returns how long that took where
// an answer came. A server that is down, or cut off, says nothing about delays.
func (l Latency) trips(ctx context.Context) (map[*ensembles.Host]time.Duration, error) {
	to := slices.Clone(l.Relays)
	wait := 2 * (l.Delay + l.Jitter)
	if len(to) == 0 {
		for _, p := range l.Peers {
			to = append(to, server(p))
		}
		wait *= 2 // the connection's own trip is late, too
	}
	r, err := l.Host.Agent.AskProbe(ctx, wait+probeTimeout, to...)
	if err != nil {
		return nil, err
	}
	took := map[*ensembles.Host]time.Duration{}
	for i, e := range r.Errors {
		if e == "" {
			took[l.Peers[i]] = r.Took[i]
		} else {
			err = errors.Join(err, fmt.Errorf("%s gets no answer from %s: %s", l.Host.Name, l.Peers[i].Name, e))
		}
	}
	if len(took) > 0 {
		err = nil
	}
	return took, err
}

// looks is how often each server is asked, at the same time: with jitter as large as the delay, the mean of so many
// is below a delay by chance once in ten thousand times.
const looks = 10

// verify asks every server, until each has answered, or does not run, or is cut off: one that comes up, or has lost the others,
// takes no connections yet. Each answer must take the least that jitter leaves of two delays, and the mean at
// least one: of a single answer, jitter as large as the delay leaves nothing to see.
func (l Latency) verify(ctx context.Context) error {
	var wrong error
	err := ensembles.Poll(ctx, pollEvery, "answers to "+l.Host.Name, func() (silent error) {
		silent, wrong = l.ask(ctx)
		if wrong != nil {
			return nil // what another look found would not make it right
		}
		return silent
	})
	return errors.Join(wrong, err)
}

// ask looks once. It returns who does not answer though nothing explains that, and what is not as it is to be.
func (l Latency) ask(ctx context.Context) (silent, wrong error) {
	if err := areThere(ctx, l.rules()); err != nil {
		return nil, err
	}
	all, errs := make([]map[*ensembles.Host]time.Duration, looks), make([]error, looks)
	_ = atOnce(looks, func(i int) error {
		all[i], errs[i] = l.trips(ctx)
		return nil // one look that found nothing says nothing yet
	})
	for _, p := range l.Peers {
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
		if st, err := p.Agent.Status(ctx); err == nil && (st.State == history.ProcessStopped || st.State == history.ProcessExited) {
			continue
		}
		none := errors.Join(fmt.Errorf("%s gets no answer from %s", l.Host.Name, p.Name), errors.Join(errs...))
		silent = errors.Join(silent, excuse(ctx, l.rules(), Link[*ensembles.Host]{From: l.Host, To: p}, none, nil))
	}
	return silent, wrong
}

// delayed reports answers of a server that were not held back.
func (l Latency) delayed(p *ensembles.Host, took []time.Duration) error {
	var sum time.Duration
	for _, t := range took {
		sum += t
	}
	least, mean := 2*(l.Delay-l.Jitter), sum/time.Duration(len(took))
	if slices.Min(took) < least || mean < l.Delay {
		return fmt.Errorf("%s answers %s after %v, want %v at least and %v in the mean", p.Name, l.Host.Name, took, max(0, least), l.Delay)
	}
	return nil
}

func (l Latency) verifyHealed(ctx context.Context) error {
	err := ensembles.Poll(ctx, pollEvery, "delays to end", func() error {
		if err := areGone(ctx, l.rules()); err != nil {
			return err
		}
		trips, err := l.trips(ctx)
		for p, took := range trips {
			if took < l.Delay {
				continue
			}
			slow := fmt.Errorf("%s answers %s after %v", p.Name, l.Host.Name, took)
			err = errors.Join(err, excuse(ctx, l.rules(), Link[*ensembles.Host]{From: l.Host, To: p}, slow, nil))
		}
		return err
	})
	if err != nil {
		return err
	}
	return l.Ensemble.AwaitReady(ctx)
}
