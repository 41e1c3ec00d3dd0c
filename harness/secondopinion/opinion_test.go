package secondopinion

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"locklab/harness/check"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
)

// A run is a history under construction.
type run struct{ events []history.Event }

func (r *run) add(at int64, kind history.Kind, op history.Op, of history.Event) {
	of.At, of.Kind, of.Op = at, kind, op
	of.Process = history.HostOf(of.Client)
	r.events = append(r.events, of)
}

// done ends the run and sorts its events.
func (r *run) done(at int64) []history.Event {
	end := history.Ends(history.EndComplete, "")
	end.At, end.Process = at, "harness"
	r.events = append(r.events, end)
	slices.SortStableFunc(r.events, func(a, b history.Event) int { return int(a.At - b.At) })
	return r.events
}

func contest(t *testing.T, events []history.Event, facts evidence.Facts) []Opinion {
	t.Helper()
	report := check.Run(history.NewLog(events), facts)
	return Ask(history.NewLog(events), facts, &report)
}

// drawHolds draws holds with little regard for sense: few instants, so that many coincide.
func drawHolds(t *rapid.T, modes []history.Mode) []history.Event {
	var r run
	instant := func(label string, from int64) int64 { return rapid.Int64Range(from, max(from, 40)).Draw(t, label) }
	free := map[string]int64{}
	for n := range rapid.Int64Range(1, 14).Draw(t, "holds") {
		e := history.Event{Client: fmt.Sprintf("c1/%d", rapid.IntRange(0, 5).Draw(t, "client")), Acq: n + 1, Lock: "/l",
			Mode: rapid.SampledFrom(modes).Draw(t, "mode"), Token: n + 1}
		if e.Mode == history.ModePermit {
			e.Value = rapid.Int64Range(1, 2).Draw(t, "permits")
		}
		called := instant("called", free[e.Client])
		returned := instant("returned", called)
		r.add(called, history.Invoke, history.OpAcquire, e)
		if rapid.IntRange(0, 7).Draw(t, "outcome") == 0 {
			r.add(returned, history.Info, history.OpAcquire, e)
			continue
		}
		r.add(returned, history.OK, history.OpAcquire, e)
		free[e.Client] = 1000 // unless it releases, it holds on
		switch rapid.IntRange(0, 3).Draw(t, "ending") {
		case 0:
			r.add(instant("lost", returned), history.Info, history.OpLost, e)
		case 1, 2:
			release := instant("release", returned)
			released := instant("released", release)
			r.add(release, history.Invoke, history.OpRelease, e)
			r.add(released, history.OK, history.OpRelease, e)
			free[e.Client] = released
		}
	}
	return r.done(2000)
}

// TestJudgesAgreeOnOverlaps compares the two judges on random histories of each kind of lock.
func TestJudgesAgreeOnOverlaps(t *testing.T) {
	for name, modes := range map[string][]history.Mode{
		"mutex":      {history.ModeExclusive},
		"read-write": {history.ModeRead, history.ModeRead, history.ModeWrite},
		"semaphore":  {history.ModePermit},
	} {
		t.Run(name, func(t *testing.T) {
			said := map[Answer]int{}
			rapid.Check(t, func(rt *rapid.T) {
				events, facts := drawHolds(rt, modes), evidence.Facts{Exclusive: true, Permits: 3}
				report := check.Run(history.NewLog(events), facts)
				for _, o := range Ask(history.NewLog(events), facts, &report) {
					if o.Disagree() {
						rt.Fatalf("%s\n%s", o, events)
					}
					said[o.Second]++
				}
			})
			if said[Yes] == 0 || said[No] == 0 {
				t.Errorf("the answers were %v; both should occur", said)
			}
		})
	}
}

// drawSections draws increments of a counter: those of a lock that works, and those of one that may not.
func drawSections(t *rapid.T, works bool) (events []history.Event, final int64) {
	var r run
	clock, stored, holdings := int64(0), int64(0), int64(0)
	tick := func() int64 { clock += rapid.Int64Range(1, 3).Draw(t, "step"); return clock }
	type section struct {
		e    history.Event
		read int64
	}
	var open []section
	write := func(s section) {
		s.e.Value = s.read + 1
		r.add(tick(), history.Invoke, history.OpWrite, s.e)
		kind := rapid.SampledFrom([]history.Kind{history.OK, history.OK, history.OK, history.Fail, history.Info}).
			Draw(t, "outcome")
		if kind == history.OK || kind == history.Info && rapid.Bool().Draw(t, "effective") {
			stored = s.e.Value
			r.add(tick(), history.OK, history.OpWrite, s.e)
			r.events[len(r.events)-1].Process = "r1" // the resource's own record
		}
		r.add(tick(), kind, history.OpWrite, s.e)
		s.e.Value = 0
		r.add(tick(), history.Invoke, history.OpRelease, s.e)
		r.add(tick(), history.OK, history.OpRelease, s.e)
	}
	for n := range rapid.Int64Range(1, 10).Draw(t, "sections") {
		holdings++
		s := section{e: history.Event{Client: fmt.Sprintf("c1/%d", holdings), Acq: n + 1, Lock: "/l"}}
		r.add(tick(), history.Invoke, history.OpAcquire, s.e)
		r.add(tick(), history.OK, history.OpAcquire, s.e)
		s.read, s.e.Value = stored, stored
		r.add(tick(), history.OK, history.OpRead, s.e)
		s.e.Value = 0
		if !works && rapid.IntRange(0, 3).Draw(t, "stopped") == 0 {
			open = append(open, s)
			continue
		}
		write(s)
		if len(open) > 0 && rapid.Bool().Draw(t, "resumes") {
			write(open[0])
			open = open[1:]
		}
	}
	for _, s := range open {
		write(s)
	}
	return r.done(clock + 10), stored
}

// TestJudgesAgreeOnUpdates compares the two judges on counters behind a lock that works and behind one that does not.
func TestJudgesAgreeOnUpdates(t *testing.T) {
	for _, works := range []bool{true, false} {
		said := map[Answer]int{}
		rapid.Check(t, func(rt *rapid.T) {
			events, final := drawSections(rt, works)
			facts := evidence.Facts{Exclusive: true, FinalValues: map[string]int64{"/l": final}}
			report := check.Run(history.NewLog(events), facts)
			for _, o := range Ask(history.NewLog(events), facts, &report) {
				if o.Question != lostQuestion {
					continue
				}
				if o.Disagree() {
					rt.Fatalf("%s\n%s\n%+v", o, events, report.Check(evidence.Effect))
				}
				said[o.Second]++
				if works && o.Second == Yes {
					rt.Fatalf("%s\n%s", o, events)
				}
			}
		})
		if said[No] == 0 || !works && said[Yes] == 0 {
			t.Errorf("lock that works: %v; the answers were %v", works, said)
		}
	}
}

// A sweep that gives the wrong answer is contradicted.
func TestWrongSweepIsContradicted(t *testing.T) {
	grant := func(r *run, client string, n, from, until int64) {
		e := history.Event{Client: client, Acq: n, Lock: "/l", Token: n}
		r.add(from-1, history.Invoke, history.OpAcquire, e)
		r.add(from, history.OK, history.OpAcquire, e)
		r.add(until, history.Invoke, history.OpRelease, e)
		r.add(until+1, history.OK, history.OpRelease, e)
	}
	var apart, together run
	grant(&apart, "c1/0", 1, 10, 20)
	grant(&apart, "c1/1", 2, 30, 40)
	grant(&together, "c1/0", 1, 10, 35)
	grant(&together, "c1/1", 2, 30, 40)
	right, wrong := apart.done(50), together.done(50)
	facts := evidence.Facts{Exclusive: true}
	for _, c := range []struct {
		judged, told  []history.Event
		sweep, second Answer
	}{{right, right, No, No}, {wrong, wrong, Yes, Yes}, {right, wrong, No, Yes}, {wrong, right, Yes, No}} {
		report := check.Run(history.NewLog(c.judged), facts)
		all := Ask(history.NewLog(c.told), facts, &report)
		if len(all) != 1 || all[0].Sweep != c.sweep || all[0].Second != c.second ||
			all[0].Disagree() != (c.sweep != c.second) {
			t.Errorf("%v, want sweep %s, Porcupine %s", all, c.sweep, c.second)
		}
	}
}

// Beyond its limits Porcupine has no opinion, except in a window around each finding.
func TestLimits(t *testing.T) {
	var r run
	for n := int64(1); n <= 1500; n++ {
		e := history.Event{Client: fmt.Sprintf("c1/%d", n%7), Acq: n, Lock: "/l", Token: n}
		r.add(100*n, history.Invoke, history.OpAcquire, e)
		r.add(100*n+1, history.OK, history.OpAcquire, e)
		until := 100*n + 50
		if n == 700 {
			until += 100 // beyond the next grant
		}
		r.add(until, history.Invoke, history.OpRelease, e)
		r.add(until+1, history.OK, history.OpRelease, e)
	}
	events := r.done(200_000)
	opinions := contest(t, events, evidence.Facts{Exclusive: true})
	if len(opinions) != 1 || opinions[0].Second != Yes || opinions[0].Sweep != Yes || opinions[0].Until == 0 ||
		opinions[0].Operations > 100 {
		t.Errorf("around a finding: %v", opinions)
	}
	opinions = contest(t, slices.DeleteFunc(events, func(e history.Event) bool { return e.Acq == 700 }),
		evidence.Facts{Exclusive: true})
	if len(opinions) != 1 || opinions[0].Second != None || opinions[0].Sweep != No || opinions[0].Disagree() ||
		!strings.Contains(opinions[0].String(), "2998 operations are more than 2000") {
		t.Errorf("without a finding: %v", opinions)
	}
	model, ops := exclusionModel(holdsByLock(history.NewLog(events), evidence.Facts{})["/l"], 0)
	short := limits{operations: 10_000, time: 1}
	if j := short.judge(model, ops); j.legal != None || !strings.Contains(j.why, "within") {
		t.Errorf("out of time: %+v", j)
	}
}

// Every read of a list must be a prefix of the final list.
func TestPrefixes(t *testing.T) {
	element := func(r *run, n, behind int64) {
		e := history.Event{Client: fmt.Sprintf("c1/%d", n), Acq: 1, Lock: "/l"}
		e.Value = behind
		r.add(10*n, history.OK, history.OpRead, e)
		e.Value, e.Target = n, string(history.NewBehind(behind))
		r.add(10*n+1, history.Invoke, history.OpWrite, e)
		r.add(10*n+2, history.OK, history.OpWrite, e)
	}
	for _, c := range []struct {
		name   string
		behind []int64 // of the elements 1, 2, …
		final  []int64
		want   Answer
	}{
		{"each read is a prefix", []int64{0, 1, 2}, []int64{1, 2, 3}, No},
		{"element 2 was read and is lost", []int64{0, 1, 2, 1}, []int64{1, 4}, Yes},
		{"element 2 is lost before it was read", []int64{0, 1, 1}, []int64{1, 3}, No},
		{"the order changed", []int64{0, 1, 2}, []int64{2, 1, 3}, Yes},
		{"the final list is not known", []int64{0}, nil, None},
	} {
		var r run
		for i, b := range c.behind {
			element(&r, int64(i+1), b)
		}
		facts := evidence.Facts{Lists: true, FinalLists: map[string][]int64{}, FinalValues: map[string]int64{}}
		if c.final != nil {
			facts.FinalLists["/l"] = c.final
		}
		for _, o := range contest(t, r.done(100), facts) {
			if o.Question == prefixQuestion && o.Second != c.want {
				t.Errorf("%s: %s", c.name, o)
			}
		}
	}
}

// The costs beside the sweep's own, of a mutex that 16 clients hand on. See also package check's benchmarks.
func BenchmarkJudges(b *testing.B) {
	for _, n := range []int64{50, 250, 1000} {
		var r run
		for i := int64(1); i <= n; i++ {
			e := history.Event{Client: fmt.Sprintf("c1/%d", i%16), Acq: i, Lock: "/l", Token: i}
			r.add(max(0, 100*i-1500), history.Invoke, history.OpAcquire, e)
			r.add(100*i+1, history.OK, history.OpAcquire, e)
			r.add(100*i+50, history.Invoke, history.OpRelease, e)
			r.add(100*i+51, history.OK, history.OpRelease, e)
		}
		events, facts := r.done(100*n+1000), evidence.Facts{Exclusive: true}
		b.Run(fmt.Sprintf("sweep/operations=%d", 2*n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				check.Run(history.NewLog(events), facts)
			}
		})
		report := check.Run(history.NewLog(events), facts)
		b.Run(fmt.Sprintf("porcupine/operations=%d", 2*n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if all := Ask(history.NewLog(events), facts, &report); len(all) != 1 || all[0].Second != No {
					b.Fatal(all)
				}
			}
		})
	}
}
