package scenario

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// The ways in which a schedule comes about.
const (
	// ScheduleExplicit is what faults says, and nothing else.
	ScheduleExplicit = "explicit"
	// ScheduleRandom is that, and faults drawn from the seed.
	ScheduleRandom = "random"
	// ScheduleSwarm is that, and faults drawn from the seed of kinds that are drawn from it
	// first, and so is their rate: a run that leaves out some kinds reaches states that one with
	// all of them hardly ever does (Groce et al., Swarm Testing, ISSTA 2012).
	ScheduleSwarm = "swarm"
)

var schedules = []string{ScheduleExplicit, ScheduleRandom, ScheduleSwarm}

// scheduleStream is the stream of the seed that schedules are drawn from; clients have theirs by number.
const scheduleStream = 1<<32 + 1

// A Plan is what becomes of a scenario's faults and its seed: each fault with its time.
type Plan struct {
	Steps []PlannedFault // by time; those with triggers first
	// Kinds are those that faults were drawn of, with their weights, and Interval is the mean time
	// between the beginnings of two that were; none and 0 where none are drawn.
	Kinds    []WeightedKind
	Interval time.Duration
}

// A PlannedFault is a fault that is to be done.
type PlannedFault struct {
	// ID is the fault's in the history: f1 for the first of the scenario, f1.2 for the second
	// time of one that repeats, d1 for the first that was drawn.
	ID    string
	Fault Fault
	// Drawn says that the seed has chosen it, and not whoever wrote the scenario.
	Drawn bool
}

// Plan resolves the schedule. It is a function of the scenario, its seed and what is supported:
// kinds whose capability is in lacking are not drawn.
func (s *Scenario) Plan(lacking map[string]string) Plan {
	p := Plan{Steps: s.explicit()}
	if s.Drawn() {
		d := drawer{Scenario: s, rand: rand.New(rand.NewPCG(s.Seed, scheduleStream)), plan: &p, mean: s.FaultInterval}
		d.draw(lacking)
	}
	slices.SortStableFunc(p.Steps, func(a, b PlannedFault) int { return cmp.Compare(a.Fault.At, b.Fault.At) })
	return p
}

// Drawn reports whether faults are drawn from the seed.
func (s *Scenario) Drawn() bool { return s.Schedule != "" && s.Schedule != ScheduleExplicit }

// HasFaults reports whether anything is to break.
func (s *Scenario) HasFaults() bool { return len(s.Faults) > 0 || s.Drawn() }

// explicit returns the faults that the scenario names, each as often as it says.
func (s *Scenario) explicit() []PlannedFault {
	var all []PlannedFault
	for i, f := range s.Faults {
		times := s.times(f)
		for n := range times {
			p := PlannedFault{ID: faultID(i, n, times), Fault: f}
			p.Fault.At += time.Duration(n) * f.Every
			p.Fault.Every, p.Fault.Repeat = 0, 0
			all = append(all, p)
		}
	}
	return all
}

// times returns how often the fault is done: once, or as often as it says, or as often as the
// run has room for.
func (s *Scenario) times(f Fault) int {
	switch {
	case f.Every <= 0:
		return 1
	case f.Repeat > 0:
		return f.Repeat
	}
	room := s.Duration - s.Recovery() - s.lasts(f) - f.At
	return 1 + int(max(room, 0)/f.Every)
}

// A drawer draws faults from a scenario's seed.
type drawer struct {
	*Scenario
	rand *rand.Rand
	plan *Plan
	mean time.Duration
}

// together is how many of the drawn faults may be in force at once, and tries how often
// another one is drawn in the place of one that does not fit.
const (
	drawnTogether = 2
	drawTries     = 20
)

func (d *drawer) draw(lacking map[string]string) {
	kinds := d.drawable(lacking)
	if len(kinds) == 0 {
		return
	}
	if d.Schedule == ScheduleSwarm {
		kinds = d.swarm(kinds)
		d.mean = time.Duration(float64(d.mean) * d.factor())
	}
	d.plan.Kinds, d.plan.Interval = kinds, d.mean
	last := d.Duration - d.Recovery()
	for at := d.pause(); at < last; at += d.pause() {
		d.one(kinds, at)
	}
	// A run that draws nothing would show nothing.
	if !slices.ContainsFunc(d.plan.Steps, func(p PlannedFault) bool { return p.Drawn }) {
		d.one(kinds, last/3)
	}
}

// pause draws the time to the next fault.
func (d *drawer) pause() time.Duration {
	return time.Duration(d.rand.ExpFloat64() * float64(d.mean)).Round(time.Millisecond)
}

// factor draws a number from 1/2 to 2.
func (d *drawer) factor() float64 { return math.Exp2(2*d.rand.Float64() - 1) }

// swarm draws which kinds there are at all, each with even odds, and how often each comes.
func (d *drawer) swarm(kinds []WeightedKind) []WeightedKind {
	var some []WeightedKind
	for _, k := range kinds {
		in, weight := d.rand.IntN(2) == 0, max(1, int(math.Round(4*float64(k.Weight)*d.factor())))
		if in {
			some = append(some, WeightedKind{k.Kind, weight})
		}
	}
	if some == nil {
		return []WeightedKind{kinds[d.rand.IntN(len(kinds))]}
	}
	return some
}

// drawable returns the kinds that faults may be drawn of, with their weights.
func (d *drawer) drawable(lacking map[string]string) []WeightedKind {
	var kinds []WeightedKind
	for _, w := range d.weights() {
		k, _ := findFaultKind(w.Kind)
		if _, lacks := lacking[k.Capability]; !lacks || k.Capability == "" {
			kinds = append(kinds, w)
		}
	}
	return kinds
}

// weights returns the scenario's, or one for each kind that can be drawn.
func (s *Scenario) weights() []WeightedKind {
	if len(s.FaultKinds) > 0 {
		return s.FaultKinds
	}
	var all []WeightedKind
	for _, k := range faultTable() {
		if !k.NotDrawn {
			all = append(all, WeightedKind{k.Name, 1})
		}
	}
	return all
}

// one draws a fault that begins then, if one fits.
func (d *drawer) one(kinds []WeightedKind, at time.Duration) {
	for range drawTries {
		f := d.fault(kinds, at)
		if !d.fits(f) {
			continue
		}
		n := 1
		for _, p := range d.plan.Steps {
			if p.Drawn {
				n++
			}
		}
		d.plan.Steps = append(d.plan.Steps, PlannedFault{ID: drawnID(n), Fault: f, Drawn: true})
		return
	}
}

func (d *drawer) fault(kinds []WeightedKind, at time.Duration) Fault {
	sum := 0
	for _, k := range kinds {
		sum += k.Weight
	}
	n, i := d.rand.IntN(sum), 0
	for n >= kinds[i].Weight {
		n -= kinds[i].Weight
		i++
	}
	k, _ := findFaultKind(kinds[i].Kind)
	f := Fault{Kind: k.Name, At: at}
	targets := drawnTargets(k.Targets)
	f.Target = targets[d.rand.IntN(len(targets))]
	for _, name := range k.Needs {
		if v, ok := findFaultKey(name).field(&f).(choiceValue); ok {
			*v.p = v.choices[d.rand.IntN(len(v.choices))]
		}
	}
	if k.draw != nil {
		k.draw(d.rand, d.Scenario, &f)
	}
	if !k.Momentary {
		from, to := d.Resolve(d.FaultLength.From), d.Resolve(d.FaultLength.To)
		length := from + time.Duration(d.rand.Float64()*float64(to-from))
		f.For = Lasting(length.Round(time.Millisecond))
	}
	return f
}

// fits reports whether the fault can be done in the run, beside those that are planned already.
func (d *drawer) fits(f Fault) bool {
	v := &validator{Scenario: d.Scenario}
	v.fault(f, func(string) string { return "" })
	if len(v.errs) > 0 {
		return false
	}
	beside := 0
	for _, p := range d.plan.Steps {
		if !v.meet(f, p.Fault) {
			continue
		}
		if beside++; beside >= drawnTogether || !composes(f, p.Fault) {
			return false
		}
	}
	return true
}
