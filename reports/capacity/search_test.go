package capacity

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A system is a simulated one, whose limit is known.
type system struct {
	rng   *rand.Rand
	limit float64 // the level at which half of the windows are bad
	noise float64 // standard deviation of a window's own limit, relative
	// shortNoise is noise of short windows; 0 = noise.
	shortNoise float64
	hiccup     float64 // share of windows that are bad whatever their level is
	drift      float64 // by which share the limit changes from one window to the next
	cold       float64 // share of the limit that is there in the first window; it grows by half of what is missing
	safe       float64 // above this level a disturbance never ends; 0 = it always ends
	away       float64 // share of the limit that is left with one server away
	ceiling    float64 // the load side can ask for no more; 0 = it can
	fullMost   float64 // the same in full windows; 0 = ceiling
	storm      int     // how many windows after the first are bad whatever their level is
	fewest     bool
	n          int
}

func (s *system) measure(a Ask) Trial {
	took := map[Kind]float64{Short: 10, Full: 25, Disturbed: 60, Away: 25}
	t := Trial{Level: a.Level, Kind: a.Kind, Seconds: took[a.Kind]}
	noise := s.noise
	if a.Kind == Short && s.shortNoise > 0 {
		noise = s.shortNoise
	}
	limit := s.limit * math.Exp(noise*s.rng.NormFloat64()+s.drift*float64(s.n))
	if s.cold > 0 {
		limit *= 1 - (1-s.cold)*math.Pow(0.5, float64(s.n))
	}
	if a.Kind == Away {
		limit *= s.away
	}
	s.n++
	load := a.Level
	if s.fewest {
		load, limit = 1/load, 1/limit
	}
	t.PerS = new(min(load, limit))
	switch {
	case s.ceiling > 0 && load > s.ceiling, s.fullMost > 0 && load > s.fullMost && a.Kind == Full:
		t.Reason, t.Detail = Void, "arrivals came late"
	case load > limit || s.rng.Float64() < s.hiccup || s.n > 1 && s.n <= 1+s.storm:
		t.Reason, t.Detail = Missed, "late"
	case a.Kind == Disturbed && s.safe > 0 && load > s.safe:
		t.Reason, t.Detail = Missed, "it did not come back"
	case a.Kind == Disturbed:
		t.RecoveredNs = new(int64(3e9))
	}
	return t
}

// drive carries a search to its end.
func drive(t *testing.T, s Search, measure func(Ask) Trial) Limit {
	t.Helper()
	var trials []Trial
	for {
		ask, more := s.Next(trials)
		if !more {
			return s.Limit(trials)
		}
		if len(trials) > 2*mostTrials {
			t.Fatalf("no end: %+v", trials[len(trials)-5:])
		}
		trials = append(trials, measure(ask))
	}
}

func near(got, want, share float64) bool { return math.Abs(got-want) <= share*math.Abs(want) }

func said(l Limit) string {
	show := func(v *float64) string {
		if v == nil {
			return "–"
		}
		return plain(*v)
	}
	text := fmt.Sprintf("%s to %s (%d and %d windows), interval %s to %s, %d trials, irregular %q, unknown %q",
		show(l.Lower), show(l.Upper), l.LowerWindows, l.UpperWindows, show(l.Low), show(l.High), len(l.Trials), l.Irregular,
		l.Unknown)
	if l.Away != nil {
		text += "; one away: " + said(*l.Away)
	}
	return text
}

// searches makes searches of systems that differ in their seeds and limits.
func searches(t *testing.T, n uint64, search Search, make func(rng *rand.Rand) *system, look func(*system, Limit)) {
	t.Helper()
	for seed := range n {
		rng := rand.New(rand.NewPCG(seed, 7))
		sys := make(rng)
		sys.rng = rng
		look(sys, drive(t, search, sys.measure))
	}
}

// Without noise the bounds enclose the limit, are within the goal width, and rest on five windows each.
func TestSearchFindsALimit(t *testing.T) {
	searches(t, 200, Search{}, func(rng *rand.Rand) *system {
		return &system{limit: math.Exp(rng.Float64() * 10)}
	}, func(sys *system, l Limit) {
		if l.Unknown != "" || l.Irregular != "" || *l.Lower > sys.limit || *l.Upper <= sys.limit ||
			*l.Upper > *l.Lower*1.051 || l.LowerWindows < 5 || l.UpperWindows < 5 || l.Why != Missed ||
			*l.Low != *l.Lower || *l.High != *l.Upper || *l.ConditionalPerS != *l.Lower || len(l.Trials) > 50 {
			t.Errorf("%s; the limit is %.4g", said(l), sys.limit)
		}
	})
}

// The interval holds the limit in at least as many searches as it says, whatever the noise, and is not much wider than
// the noise makes it.
func TestIntervalsHoldTheLimit(t *testing.T) {
	for _, c := range []struct {
		name    string
		sys     system
		covered float64
		wide    float64 // the median of the intervals' widths is at most this
	}{
		{"quiet", system{noise: 0.01}, 0.95, 0.1},
		{"5 % of noise", system{noise: 0.05}, 0.95, 0.25},
		{"15 % of noise", system{noise: 0.15}, 0.95, 0.5},
		{"noisier short windows", system{noise: 0.05, shortNoise: 0.15}, 0.95, 0.3},
		{"hiccups", system{noise: 0.03, hiccup: 0.1}, 0.93, 0.3},
	} {
		const n = 400
		covered, failed := 0, 0
		var widths, off []float64
		searches(t, n, Search{BudgetS: 1500, CostS: map[Kind]float64{Short: 10, Full: 25}}, func(rng *rand.Rand) *system {
			sys := c.sys
			sys.limit = 100 * math.Exp(rng.Float64()*3)
			return &sys
		}, func(sys *system, l Limit) {
			if l.Unknown != "" || l.Lower == nil {
				failed++
				return
			}
			off = append(off, math.Abs(math.Log(*l.Lower/sys.limit)))
			lo, hi := 0.0, math.Inf(1)
			if l.Low != nil {
				lo = *l.Low
			}
			if l.High != nil {
				hi = *l.High
			}
			if lo <= sys.limit && sys.limit <= hi {
				covered++
			}
			widths = append(widths, math.Log(hi/lo))
		})
		t.Logf("%s: %.3f covered, median width %.3f, median error %.3f, %d without an answer", c.name,
			float64(covered)/n, median(widths), median(off), failed)
		if float64(covered) < c.covered*n || median(widths) > c.wide || failed > n/50 {
			t.Errorf("%s: %d of %d intervals hold the limit, their median width is %.3f, and %d searches failed", c.name,
				covered, n, median(widths), failed)
		}
	}
}

// Two searches of the same noisy system rarely differ much, and medians of five hardly.
func TestSearchesRepeat(t *testing.T) {
	var all []float64
	searches(t, 100, Search{}, func(*rand.Rand) *system { return &system{limit: 1000, noise: 0.08} },
		func(_ *system, l Limit) { all = append(all, *l.Lower) })
	apart := 0
	for i := 0; i+10 <= len(all); i += 10 {
		a, b := median(all[i:i+5]), median(all[i+5:i+10])
		if math.Abs(a/b-1) > 0.1 {
			apart++
		}
	}
	if apart > 1 {
		t.Errorf("%d of 10 pairs of medians of five differ by more than 10 %%", apart)
	}
}

// A limit that drifts while it is searched for is found where it was meanwhile.
func TestSearchOfADrift(t *testing.T) {
	for _, drift := range []float64{-0.005, 0.005} {
		searches(t, 50, Search{}, func(*rand.Rand) *system { return &system{limit: 1000, noise: 0.02, drift: drift} },
			func(sys *system, l Limit) {
				end := sys.limit * math.Exp(drift*float64(sys.n))
				lo, hi := min(end, sys.limit), max(end, sys.limit)
				if l.Unknown != "" || *l.Lower < lo*0.9 || *l.Lower > hi*1.1 || len(l.Trials) > 100 {
					t.Errorf("drift %v: %s; the limit went from %.4g to %.4g", drift, said(l), sys.limit, end)
				}
			})
	}
}

// Servers that are cold at first are measured until they are steady, and the answer is that of warm ones.
func TestSearchWarmsTheServers(t *testing.T) {
	searches(t, 50, Search{Start: 300}, func(*rand.Rand) *system { return &system{limit: 1000, noise: 0.01, cold: 0.1} },
		func(sys *system, l Limit) {
			if l.Unknown != "" || !near(*l.Lower, 1000, 0.08) || l.Cold < 2 || l.Steady == nil || !*l.Steady {
				t.Errorf("%s; %d cold windows", said(l), l.Cold)
			}
		})
	// A throughput that never stops rising ends the wait, and that is said.
	l := drive(t, Search{Start: 300}, func() func(Ask) Trial {
		n := 1.0
		return func(a Ask) Trial {
			n *= 1.1
			tr := Trial{Level: a.Level, Kind: a.Kind, PerS: new(n)}
			if a.Level > 200 {
				tr.Reason = Missed
			}
			return tr
		}
	}())
	if l.Cold != MostCold || l.Steady == nil || *l.Steady {
		t.Errorf("%s; %d cold windows", said(l), l.Cold)
	}
}

// A level from which a disturbance never ends is no answer.
func TestSearchOfAMetastableSystem(t *testing.T) {
	searches(t, 50, Search{Disturb: true}, func(*rand.Rand) *system {
		return &system{limit: 1000, noise: 0.01, safe: 700}
	}, func(_ *system, l Limit) {
		if l.Unknown != "" || l.Irregular != "" || *l.Lower > 700 || *l.Lower < 700*0.9 || l.Recovered == nil ||
			!*l.Recovered || *l.RecoveredNs != 3e9 || l.Detail != "it did not come back" || l.LowerWindows < 5 ||
			l.Undisturbed == nil || !near(*l.Undisturbed, 1000, 0.08) {
			t.Error(said(l), l.Undisturbed)
		}
	})
	searches(t, 50, Search{Disturb: true}, func(*rand.Rand) *system { return &system{limit: 1000, noise: 0.01} },
		func(_ *system, l Limit) {
			if l.Irregular != "" || !near(*l.Lower, 1000, 0.08) || l.Recovered == nil || !*l.Recovered ||
				l.Undisturbed != nil {
				t.Error(said(l))
			}
		})
}

// Where the load side is the limit of full windows only, there is an answer in time: what it could ask for.
func TestSearchThatIsHampered(t *testing.T) {
	for _, most := range []float64{950, 700, 450, 250} {
		s := Search{BudgetS: 500, CostS: map[Kind]float64{Short: 10, Full: 25}}
		searches(t, 20, s, func(*rand.Rand) *system {
			return &system{limit: 1000, noise: 0.02, fullMost: most}
		}, func(_ *system, l Limit) {
			if l.Unknown != "" || !l.AtLeast || l.High != nil || *l.Lower > most || *l.Lower < most/2.1 {
				t.Errorf("full windows up to %g: %s", most, said(l))
			}
		})
	}
}

// Something that disturbs the first windows does not decide the answer, unless five full windows are among them.
func TestSearchThatBeginsInAStorm(t *testing.T) {
	for storm := range 11 {
		searches(t, 20, Search{}, func(*rand.Rand) *system {
			return &system{limit: 1000, noise: 0.02, storm: storm}
		}, func(_ *system, l Limit) {
			if l.Unknown != "" || l.Irregular != "" || !near(*l.Lower, 1000, 0.08) || len(l.Trials) > 80 {
				t.Errorf("a storm of %d windows: %s", storm, said(l))
			}
		})
	}
}

// Short windows that go on after a storm keep below a level that full windows have excluded.
func TestSearchAfterAStormKeepsItsUpperBound(t *testing.T) {
	var trials []Trial
	add := func(n int, level float64, k Kind, r Reason) {
		for range n {
			trials = append(trials, Trial{Level: level, Kind: k, Reason: r, Seconds: 1})
		}
	}
	add(1, 8, Short, Holds)
	add(MostCold, 16, Short, Missed)
	add(windows, 16, Full, Holds)
	add(windows, 100, Full, Missed)
	add(1, 32, Short, Holds)
	add(1, 64, Short, Holds)
	if got, _ := (Search{}).Next(trials); got.Kind != Short || got.Level != 80 {
		t.Errorf("%+v, want a short window at 80", got)
	}
}

// If the time is over before a level comes back from a disturbance, what held without one is told all the same.
func TestSearchThatOnlyHoldsUndisturbed(t *testing.T) {
	s := Search{Start: 900, Disturb: true, BudgetS: 400, CostS: map[Kind]float64{Short: 10, Full: 25, Disturbed: 60}}
	searches(t, 20, s, func(*rand.Rand) *system {
		return &system{limit: 1000, noise: 0.01, safe: 100}
	}, func(_ *system, l Limit) {
		if l.Unknown == "" || l.Lower != nil || l.Undisturbed == nil || !near(*l.Undisturbed, 1000, 0.08) {
			t.Error(said(l), l.Undisturbed)
		}
	})
}

// What holds with one server away is found below the answer; if nothing changes, it is the answer.
func TestSearchWithOneServerAway(t *testing.T) {
	for _, left := range []float64{0.6, 1} {
		searches(t, 50, Search{Disturb: true, Away: true}, func(*rand.Rand) *system {
			return &system{limit: 1000, noise: 0.001, away: left}
		}, func(_ *system, l Limit) {
			if l.Away == nil || l.Away.Unknown != "" || !near(*l.Away.Lower, 1000*left, 0.12) || *l.Away.Lower > *l.Lower ||
				(l.Away.Upper == nil) != (left == 1) {
				t.Error(said(l))
			}
		})
	}
}

// A search within a budget ends in time, and says what it lacks.
func TestSearchKeepsToItsBudget(t *testing.T) {
	cost := map[Kind]float64{Short: 10, Full: 25, Disturbed: 60, Away: 25}
	for _, budget := range []float64{60, 200, 400, 600, 900, 3000} {
		s := Search{BudgetS: budget, CostS: cost, Disturb: true, Away: true, Planned: 300}
		searches(t, 20, s, func(*rand.Rand) *system {
			return &system{limit: 1000, noise: 0.02, away: 0.8}
		}, func(_ *system, l Limit) {
			spent := 0.0
			for _, tr := range l.Trials {
				spent += tr.Seconds
			}
			complete := l.Unknown == "" && l.Irregular == ""
			if l.Lower != nil && !slices.ContainsFunc(l.Trials, func(tr Trial) bool {
				return tr.Kind == Full && tr.Level == s.Planned
			}) {
				t.Errorf("budget %v s: nothing is known of the planned level: %s", budget, said(l))
			}
			if spent > budget || budget >= 3000 && !complete || budget <= 200 && complete {
				t.Errorf("budget %v s: spent %v s, %s", budget, spent, said(l))
			}
			if l.Unknown == "" && l.Irregular == "" && (l.LowerWindows < 5 || l.UpperWindows < 5) {
				t.Errorf("budget %v s: a regular result with few windows: %s", budget, said(l))
			}
		})
	}
}

// The fewest clients or locks that hold are found exactly.
func TestSearchForTheFewest(t *testing.T) {
	searches(t, 100, Search{Start: 64, Least: 1, Most: 4096, Whole: true, Fewest: true}, func(rng *rand.Rand) *system {
		return &system{limit: 1 + rng.Float64()*500, fewest: true}
	}, func(sys *system, l Limit) {
		want := math.Ceil(sys.limit)
		if l.Unknown != "" || l.Irregular != "" || *l.Lower < want || *l.Lower > want*1.06+0.01 || *l.Upper >= sys.limit {
			t.Errorf("%s; the limit is %.4g", said(l), sys.limit)
		}
	})
}

// If there is no boundary, or none can be found, the search says so and ends.
func TestSearchWithoutBoundary(t *testing.T) {
	at := func(r Reason) func(Ask) Trial {
		return func(a Ask) Trial { return Trial{Level: a.Level, Kind: a.Kind, Reason: r, Detail: "because"} }
	}
	if l := drive(t, Search{Start: 3}, at(Holds)); l.Unknown != "" || *l.Lower != mostLevel || l.Upper != nil ||
		l.Irregular != "no level was found that does not hold" {
		t.Errorf("all hold: %s", said(l))
	}
	if l := drive(t, Search{Start: 3}, at(Missed)); l.Unknown != "" || l.Lower != nil || *l.Upper != leastLevel ||
		l.Why != Missed || l.Detail != "because" || l.Irregular != "no level holds" {
		t.Errorf("none holds: %s", said(l))
	}
	if l := drive(t, Search{}, at(Undecided)); l.Unknown == "" || len(l.Trials) != 2 {
		t.Errorf("none says anything: %s", said(l))
	}
	if l := drive(t, Search{}, at(Violation)); l.Unknown == "" || len(l.Trials) != 1 {
		t.Errorf("the lock is unsafe: %s", said(l))
	}
	if l := drive(t, Search{Start: 16}, at(Void)); l.Unknown == "" || l.Lower != nil {
		t.Errorf("only void windows: %s", said(l))
	}
}

// A limit of the load side is no limit of the servers: the answer is at least what held.
func TestSearchAboveWhatCanBeAskedFor(t *testing.T) {
	searches(t, 50, Search{Disturb: true}, func(*rand.Rand) *system {
		return &system{limit: 5000, ceiling: 800, noise: 0.02}
	}, func(_ *system, l Limit) {
		if l.Unknown != "" || !l.AtLeast || l.Upper != nil || l.High != nil || *l.Lower > 800 || *l.Lower < 700 ||
			l.Detail != "arrivals came late" || l.LowerWindows < 5 {
			t.Error(said(l))
		}
	})
}

// The load generator's ceiling is the highest level, unless another one is given. A limit above 80 % of it is told as
// "at least", and one below it as a limit.
func TestSearchKnowsTheCeiling(t *testing.T) {
	for _, c := range []struct {
		limit, ceiling, most float64
		atLeast              bool
	}{
		{300, 1000, 0, false},
		{700, 1000, 0, false},
		{900, 1000, 0, true},
		{5000, 1000, 0, true},
		{5000, 10_000, 800, false},
	} {
		highest := 0.0
		sys := &system{limit: c.limit, rng: rand.New(rand.NewPCG(1, 1))}
		l := drive(t, Search{Ceiling: c.ceiling, Most: c.most}, func(a Ask) Trial {
			highest = max(highest, a.Level)
			return sys.measure(a)
		})
		most := c.most
		if most == 0 {
			most = c.ceiling
		}
		want := min(c.limit, most)
		if l.Lower == nil || *l.Lower > want || *l.Lower < want*0.95 || highest > most || l.AtLeast != c.atLeast {
			t.Errorf("%+v: asked for %g, at least %t: %s", c, highest, l.AtLeast, said(l))
			continue
		}
		if c.atLeast && (l.Upper != nil || l.High != nil || l.Irregular != "the load side was the limit" ||
			!strings.Contains(l.Detail, "asks for at most 1000 a second")) {
			t.Errorf("%+v: %s, %s", c, said(l), l.Detail)
		}
	}
}

// The next trial follows from the trials alone, so a search that is interrupted goes on as if it had not been.
func TestSearchDependsOnTrialsOnly(t *testing.T) {
	s := Search{Disturb: true, Away: true}
	sys := &system{limit: 321, noise: 0.03, away: 0.7, rng: rand.New(rand.NewPCG(1, 1))}
	l := drive(t, s, sys.measure)
	for n, tr := range l.Trials {
		if ask, more := s.Next(l.Trials[:n]); !more || ask.Level != tr.Level || ask.Kind != tr.Kind {
			t.Fatalf("after %d trials it asks for %v, %t, and then came %v %s", n, ask, more, tr.Level, tr.Kind)
		}
	}
	if cut := s.Limit(l.Trials[:4]); cut.Unknown == "" {
		t.Errorf("after 4 trials: %s", said(cut))
	}
	if diff := cmp.Diff(l, s.Limit(l.Trials)); diff != "" {
		t.Errorf("the same trials have another answer:\n%s", diff)
	}
}

func median(all []float64) float64 {
	all = slices.Sorted(slices.Values(all))
	return all[len(all)/2]
}

// If the load side spoils every window with a disturbance, whether the limit comes back is not known, and that is said.
func TestRecoveryThatCannotBeSeen(t *testing.T) {
	sys := &system{limit: 1000, noise: 0.01, rng: rand.New(rand.NewPCG(1, 1))}
	l := drive(t, Search{Disturb: true}, func(a Ask) Trial {
		tr := sys.measure(a)
		if a.Kind == Disturbed {
			tr.Reason = Void
		}
		return tr
	})
	if l.Recovered != nil || !near(*l.Lower, 1000, 0.08) ||
		!strings.HasPrefix(l.Irregular, "whether the bound holds again") {
		t.Error(said(l))
	}
}

// A search whose time is over before it found what holds does not say that nothing does.
func TestSearchThatRunsOutOfTime(t *testing.T) {
	seen := 0
	for budget := 600.0; budget < 1000; budget += 20 {
		s := Search{Disturb: true, BudgetS: budget, CostS: map[Kind]float64{Short: 10, Full: 25, Disturbed: 60}}
		sys := &system{limit: 1000, noise: 0.01, safe: 10, rng: rand.New(rand.NewPCG(1, 1))}
		l := drive(t, s, sys.measure)
		if l.Lower != nil {
			continue
		}
		if seen++; !strings.HasPrefix(l.Unknown, "the time was over before a level was found that holds") {
			t.Errorf("budget %v s: %s", budget, said(l))
		}
	}
	if seen == 0 {
		t.Error("every search had time enough")
	}
}
