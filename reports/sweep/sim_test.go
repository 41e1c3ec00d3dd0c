package sweep

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"locklab/harness/check"
	"locklab/harness/history"
	"locklab/harness/scenario"
	"locklab/reports/internal/synth"
	"locklab/reports/measure"
	"locklab/reports/result"
	"locklab/workloads"
)

// A simLock is a lock in virtual time with known parameters, which the models have to find from runs of a few clients.
// It serves in order. Times are in milliseconds, and each is drawn between 0.7 and 1.3 times its mean.
type simLock struct {
	readShare float64
	permits   int
	hold      float64
	handoff   float64 // last release → next grant
	enqueue   float64
	release   float64
	reader    float64 // the least time between the grants to two readers
	gate      float64 // the least time between the grants of two permits
}

// played returns the events of some seconds of a closed loop.
func (l simLock) played(clients int, rng *rand.Rand, until float64) []history.Event {
	draw := func(mean float64) float64 { return mean * (0.7 + 0.6*rng.Float64()) }
	type client struct {
		name            string
		n               int64
		invoked, queued float64
	}
	var queue []client
	ask := func(c client, at float64) {
		c.n++
		c.invoked, c.queued = at, at+draw(l.enqueue)
		i, _ := slices.BinarySearchFunc(queue, c, func(a, b client) int {
			if a.queued <= b.queued {
				return -1
			}
			return 1
		})
		queue = slices.Insert(queue, i, c)
	}
	for i := range clients {
		ask(client{name: fmt.Sprintf("c1/%d", i)}, rng.Float64())
	}
	var all []history.Event
	add := func(at float64, e history.Event) {
		e.At, e.Process = synth.Ms(at), "c1"
		all = append(all, e)
	}
	var writer, readers float64 // until when they hold
	var entered, last float64   // when the last client entered and was granted the lock
	permits := make([]float64, max(l.permits, 1))
	for queue[0].queued < until {
		c := queue[0]
		queue = queue[1:]
		granted := max(c.queued, last)
		a := history.Claim{Client: c.name, Acq: c.n, Lock: synth.TheLock}
		after := func(free float64) { // c waits for what will be free then
			if free > c.queued {
				granted = max(granted, free+draw(l.handoff))
			}
		}
		in := func() { // c comes in after others
			granted = max(granted, entered+draw(l.reader+l.gate))
			entered = granted
		}
		hold := draw(0.1) + l.hold
		switch {
		case l.permits > 1:
			i := slices.Index(permits, slices.Min(permits))
			after(permits[i])
			in()
			permits[i] = granted + hold
			a.Mode, a.Permits = history.ModePermit, 1
		case rng.Float64() < l.readShare:
			after(writer)
			in()
			readers = max(readers, granted+hold)
			a.Mode = history.ModeRead
		default:
			after(max(writer, readers))
			writer = granted + hold
			a.Mode = history.ModeWrite
		}
		last = granted
		released := granted + hold
		over := released + draw(l.release)
		add(c.invoked, a.Acquire())
		add(c.queued, a.Queued(0))
		add(granted, a.Granted())
		add(released, a.Release())
		add(over, a.Released(history.OK, ""))
		ask(c, over)
	}
	return all
}

// The models predict the throughput of 16 to 256 clients from measurements at 2, 4 and 8 clients only, and find the
// known parameters of the simulated locks.
func TestModelsOfSimulatedLocks(t *testing.T) {
	for name, l := range map[string]simLock{
		"readers one after the other": {readShare: 0.9, hold: 5, handoff: 2, enqueue: 1.5, release: 1, reader: 1.2},
		"readers at a busy machine":   {readShare: 0.9, hold: 5, handoff: 3.5, enqueue: 3, release: 2.5, reader: 2},
		"readers all at once":         {readShare: 0.9, hold: 5, handoff: 2, enqueue: 1.5, release: 1},
		"as many writers":             {readShare: 0.5, hold: 5, handoff: 2, enqueue: 1.5, release: 1, reader: 1.2},
		"permits behind a gate":       {permits: 4, hold: 5, handoff: 2, enqueue: 1.5, release: 1, gate: 3.5},
		"permits that are short":      {permits: 4, hold: 20, handoff: 2, enqueue: 1.5, release: 1, gate: 1.5},
	} {
		in := Input{Header: Header{Scenario: name, Seed: 1, Repeat: 1,
			Params: []Param{param("clients", "1", "2", "4", "8", "16", "32", "64", "128", "256")}}}
		for i, text := range in.Params[0].Values {
			clients := int(in.Params[0].Numbers[i])
			rng := rand.New(rand.NewPCG(5, uint64(clients)))
			r := result.Result{SchemaVersion: 1, Verdict: check.Pass}
			sc := scenario.Scenario{Load: workloads.Load{Arrivals: workloads.Closed}}
			if l.permits > 0 {
				sc.Workload, sc.Permits = workloads.Semaphore, l.permits
			}
			run := synth.RunOf(l.played(clients, rng, 8000), sc)
			r.Measure(run, measure.Interval{From: synth.Ms(1000), To: synth.Ms(7000), End: synth.Ms(8000), Measured: true}, nil)
			in.Points = append(in.Points, PointRuns{Values: map[string]string{"clients": text},
				Runs: []Run{{Dir: text, Result: &r}},
				Setting: Setting{Clients: clients, Locks: 1, Together: max(l.permits, 1), ReadShare: l.readShare,
					Hold: time.Duration(l.hold * 1e6), Modelled: true}})
		}
		s := Summarize(in)
		m := s.Series[0].Model
		if m == nil {
			t.Errorf("%s: no model", name)
			continue
		}
		about := func(what string, ns int64, want float64) {
			if got := float64(ns) / 1e6; got < want-0.3 || got > want+0.3 {
				t.Errorf("%s: %s of %.2f ms, is %.2f ms (%s)", name, what, got, want, m.From)
			}
		}
		about("hand-off", m.HandoffNs, l.handoff)
		about("reader", m.ReaderNs, l.reader)
		if short := 4/(l.hold+l.handoff) < 0.8/l.gate; l.permits > 1 && short {
			about("gate", m.GateNs, 0) // no permit was ever free while a client waited, so the gate is not seen
		} else {
			about("gate", m.GateNs, l.gate)
		}
		for _, p := range s.Series[0].Points {
			if p.Clients >= 16 && (p.Gap == nil || *p.Gap < -0.1 || *p.Gap > 0.1 || p.Predicted.Calibrated) {
				t.Errorf("%s, %d clients: %.1f a second, and the model says %.1f (%+.0f %%)", name, p.Clients, *p.AcquiredPerS,
					p.Predicted.AcquiredPerS, 100**p.Gap)
			}
		}
	}
}
