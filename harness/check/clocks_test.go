package check

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/harness/check/evidence"
	"locklab/harness/check/progress"
	"locklab/harness/history"
)

// A machine is another machine of a simulated run: a clock that is off the run's and drifts, and how long it takes to
// ask it.
type machine struct {
	name   string
	offset int64
	ppm    int64
	trip   int64 // ns, the longest round trip
	there  bool  // it takes most of the trip to get there, and little to get back, or the other way round
}

func (m *machine) shows(at int64) int64 { return at + m.offset + at/1e6*m.ppm }

// skewed returns events as their hosts record them by their own clocks, and the harness's readings of these.
func skewed(
	r *rand.Rand, events []history.Event, machines map[string]*machine,
) (recorded []history.Event, readings []history.ClockReading) {
	var end int64
	recorded = slices.Clone(events)
	for i := range recorded {
		e := &recorded[i]
		end = max(end, e.At)
		if m := machines[e.Process]; m != nil {
			e.At = m.shows(e.At)
		}
	}
	for _, host := range evidence.SortedKeys(machines) {
		m := machines[host]
		for at := -250 * ms; at < end+250*ms; at += 250 * ms {
			there, back := m.trip-r.Int64N(m.trip/10+1), r.Int64N(m.trip/10+1)
			if !m.there {
				there, back = back, there
			}
			readings = append(readings, history.ClockReading{Host: host, Clock: m.name, Shows: m.shows(at + there), Asked: at,
				Took: there + back})
		}
	}
	return recorded, readings
}

// machinesOf puts hosts of a run on two other machines, or leaves them on the harness's.
func machinesOf(r *rand.Rand, hosts ...string) map[string]*machine {
	var all [2]*machine
	for i := range all {
		all[i] = &machine{name: fmt.Sprint("m", i), offset: r.Int64N(2e14) - 1e14, ppm: r.Int64N(401) - 200,
			trip: []int64{50_000, 500_000, 8 * ms, 40 * ms}[r.IntN(4)], there: r.IntN(2) == 0}
	}
	of := map[string]*machine{}
	for _, host := range hosts {
		if i := r.IntN(3); i < len(all) {
			of[host] = all[i]
		}
	}
	return of
}

// TestTruthfulRunsOnSeveralMachines judges the runs of [TestTruthfulRuns] as they are recorded on machines whose clocks
// are off by up to a day and drift. Nobody is to be accused, and what is said to have passed must have: no overlap
// that there was may be missed.
func TestTruthfulRunsOnSeveralMachines(t *testing.T) {
	for _, w := range truthfulWorkloads {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			var unknown, passed, seen int
			seeds := slices.Clone(w.seeds)
			for n := range *truthful / 2 {
				seeds = append(seeds, *firstSeed+uint64(n))
			}
			for _, seed := range seeds {
				s := newSimulation(w, seed)
				s.run()
				r := rand.New(rand.NewPCG(seed, 11))
				hosts := []string{"r1"}
				for _, c := range s.clients {
					hosts = append(hosts, c.host)
				}
				events, readings := skewed(r, s.events, machinesOf(r, hosts...))
				report := Run(history.NewLogOf(events, history.NewClocks(readings)), s.facts())
				for i := range report.Checks {
					v := &report.Checks[i]
					if v.Violation {
						t.Errorf("seed %d: %s is accused:\n%s", seed, v.Name, describeVerdict(v, false))
					}
					if v.Name == evidence.Assumptions && strings.Contains(v.Summary, "clock") && v.Result != evidence.Pass {
						t.Errorf("seed %d: %s", seed, v.Summary)
					}
				}
				v := report.Check(evidence.BeliefExclusion)
				switch truth := s.overlaps(); {
				case v.Result == evidence.Unknown:
					unknown++
				case truth && v.Result == evidence.Pass:
					t.Errorf("seed %d: an overlap was missed: %s", seed, v.Summary)
				case !truth && v.Result == evidence.Fail && !s.resized: // else there may have been fewer permits
					t.Errorf("seed %d: an overlap was made up: %s", seed, v.Summary)
				case truth:
					seen++
				default:
					passed++
				}

			}
			t.Logf("belief exclusion: %d passed, %d failed, %d unknown", passed, seen, unknown)
			if seen == 0 && !w.unwatched { // else most are unknown
				t.Error("no overlap was ever seen")
			}
		})
	}
}

// overlaps reports whether clients believed at once what excludes each other, by the true times.
func (s *simulation) overlaps() bool {
	holds := s.beliefs()
	for i, a := range holds {
		taken := int64(0)
		for k, b := range holds {
			if a.By.Lock != b.By.Lock {
				continue
			}
			if b.From <= a.From && a.From < b.Until {
				taken += b.By.Permits
			}
			if k < i && a.By.Client != b.By.Client && history.Conflict(a.By.Mode, b.By.Mode) &&
				max(a.From, b.From) < min(a.Until, b.Until) {
				return true
			}
		}
		if taken > int64(s.permits) && s.permits > 0 {
			return true
		}
	}
	return false
}

// onMachines judges a history in the notation of the fixtures whose host c1 is on another machine. The round trip to it
// takes so long, and its clock is ahead by offset. Unless place is set, the clock was never read.
func onMachines(t *testing.T, text string, trip, offset int64, place bool) Report {
	t.Helper()
	events, err := parseHistory(text)
	if err != nil {
		t.Fatal(err)
	}
	facts := recipes["queue"]
	facts.SessionTimeout, facts.Tick, facts.Natures = 6*time.Second, time.Second, natures
	m := map[string]*machine{"c1": {name: "m", offset: offset, trip: trip}}
	recorded, readings := skewed(rand.New(rand.NewPCG(1, 1)), events, m)
	if !place {
		readings = nil
	}
	return Run(history.NewLogOf(recorded, history.NewClocks(readings)), facts)
}

// Both false passes of the experiment with two machines: all of c1's events were 100,000 s off, and an overlap was
// shorter than the clocks' uncertainty.
func TestNoFalsePassOnTwoMachines(t *testing.T) {
	const overlap = `
run 0 20
1 c1/0 connect zk1 0x1
1 c2/0 connect zk1 0x2
2 c1/0 acquire l1 -> 2.1 token 5
3 c2/0 acquire l1 -> 5 token 6
%s c1/0 release -> 11
12 c2/0 release -> 12.1
`
	for _, c := range []struct {
		name     string
		released string
		trip     int64
		want     evidence.Result
		says     string
	}{
		{"a long overlap", "10", ms, evidence.Fail, "1 overlap, unexplained"},
		{"an overlap below the uncertainty", "5.0001", ms, evidence.Unknown, "no certain overlap"},
		{"a gap below the uncertainty", "4.9999", ms, evidence.Unknown, "no certain overlap"},
		{"a gap above the uncertainty", "4.99", ms, evidence.Pass, "no overlap among 2 holds"},
		{"an overlap just above the uncertainty", "5.01", ms, evidence.Fail, "1 overlap, unexplained"},
		{"a machine that is too far away", "4", progress.OneSecond, evidence.Unknown, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := onMachines(t, fmt.Sprintf(overlap, c.released), c.trip, 100_000*progress.OneSecond, true)
			v := r.Check(evidence.BeliefExclusion)
			if c.says == "" {
				v = r.Check(evidence.Assumptions)
				c.says = "the clock of c1 is placed only within"
			}
			if v.Result != c.want || !strings.Contains(v.Summary, c.says) {
				t.Errorf("%s: %s; want %s: %s", v.Result, v.Summary, c.want, c.says)
			}
		})
	}
	if r := onMachines(t, fmt.Sprintf(overlap, "10"), ms, 100_000*progress.OneSecond,
		false); r.Check(evidence.BeliefExclusion).Count != 0 {
		t.Error("without readings of the clock the overlap is seen, so this test shows nothing")
	}
}

// A clock that jumps during the run makes the run unknown.
func TestClockThatJumps(t *testing.T) {
	events, err := parseHistory(`
run 0 20
1 c1/0 connect zk1 0x1
2 c1/0 acquire l1 -> 2.1 token 5
10 c1/0 release -> 11
`)
	if err != nil {
		t.Fatal(err)
	}
	recorded, readings := skewed(rand.New(rand.NewPCG(1, 1)), events, map[string]*machine{"c1": {name: "m", trip: ms}})
	for i := range readings {
		if readings[i].Asked > 5*progress.OneSecond {
			readings[i].Shows += progress.OneSecond
		}
	}
	facts := recipes["queue"]
	facts.SessionTimeout, facts.Tick, facts.Natures = 6*time.Second, time.Second, natures
	r := Run(history.NewLogOf(recorded, history.NewClocks(readings)), facts)
	if v := r.Check(evidence.Assumptions); v.Result != evidence.Unknown || !strings.Contains(v.Summary,
		"the clock of c1 cannot be placed") {
		t.Errorf("%s: %s", v.Result, v.Summary)
	}
}
