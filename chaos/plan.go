package chaos

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// The sources of faults.
const (
	// ScheduleExplicit has the faults that the scenario names, and no others.
	ScheduleExplicit = "explicit"
	// ScheduleRandom adds faults that are drawn from the seed.
	ScheduleRandom = "random"
	// ScheduleSwarm adds faults that are drawn from the seed, after drawing their kinds and rate. A run that leaves
	// out some kinds reaches states that a run with all of them hardly ever reaches (Groce et al., Swarm Testing,
	// ISSTA 2012).
	ScheduleSwarm = "swarm"
)

// Planned is everything that a scenario says about its faults.
type Planned struct {
	Faults []Fault
	// Schedule is the source of faults; empty = ScheduleExplicit.
	Schedule string
	Seed     uint64
	// Interval is the mean time between the beginnings of two random faults. Length is the range that their lengths
	// are drawn from. Kinds are the kinds that they are drawn from; none = all that can be drawn.
	Interval time.Duration
	Length   SpanRange
	Kinds    Weights
}

// Drawn reports whether faults are drawn from the seed.
func (p *Planned) Drawn() bool { return p.Schedule != "" && p.Schedule != ScheduleExplicit }

// A Plan is the list of faults that result from a scenario and its seed, each with its time.
type Plan struct {
	Steps []PlannedFault // by time; those with triggers first
	// Kinds are the kinds that random faults were drawn from, with their weights. Interval is the mean time between
	// the beginnings of two random faults. Both are zero if there are none.
	Kinds    []WeightedKind
	Interval time.Duration
}

// A PlannedFault is a fault that is to be injected.
type PlannedFault struct {
	// ID is the fault's name in the history: f1 for the scenario's first fault, f1.2 for the second time of one that
	// repeats, d1 for the first random fault.
	ID    string
	Fault Fault
	// Drawn says that the fault was drawn from the seed, and not named by the scenario.
	Drawn bool
	// After is the ID of the fault that must be over before this one begins; empty = it waits for none.
	After string
}

// Plan resolves what the scenario says. The result depends only on the scenario, the setting, and what is supported,
// because kinds whose capability is in lacking are not drawn.
func (p *Planned) Plan(s *Setting, lacking map[string]string) Plan {
	plan := Plan{Steps: p.named(s)}
	if p.Drawn() {
		newDrawer(p, s, &plan).draw(lacking)
	}
	slices.SortStableFunc(plan.Steps, func(a, b PlannedFault) int { return cmp.Compare(a.Fault.At, b.Fault.At) })
	return plan
}

// named returns the faults that the scenario names, each as often as it says.
func (p *Planned) named(s *Setting) []PlannedFault {
	var all []PlannedFault
	last := map[Target]string{} // the last fault with a trigger
	for i, f := range p.Faults {
		times := s.times(f)
		for n := range times {
			one := PlannedFault{ID: faultID(i, n, times), Fault: f}
			one.Fault.At += time.Duration(n) * f.Every
			one.Fault.Every, one.Fault.Repeat = 0, 0
			if f.Trigger != "" {
				one.After, last[f.Target] = last[f.Target], one.ID
			}
			all = append(all, one)
		}
	}
	return all
}

// faultID names the nth time of a scenario's i-th fault, both from 0.
func faultID(i, n, times int) string {
	if times == 1 {
		return fmt.Sprintf("f%d", i+1)
	}
	return fmt.Sprintf("f%d.%d", i+1, n+1)
}

// drawnID names the nth fault that was drawn, from 1.
func drawnID(n int) string { return fmt.Sprintf("d%d", n) }

// Check returns what is wrong with the keys that random faults are drawn from.
func (p *Planned) Check(s *Setting) []Problem {
	if !p.Drawn() {
		return nil
	}
	c := &checker{Setting: s}
	in := func(keys ...string) place { return place{settings: keys} }
	from, to := s.resolve(p.Length.From), s.resolve(p.Length.To)
	room := s.Duration - s.recovery()
	switch {
	case s.Duration == 0:
		c.refuse(in("schedule", "iterations"), "a duration instead of iterations",
			"a random schedule needs to know when the run ends")
	case from <= 0 || to > longest:
		c.refuse(in("fault-length"), "such as 0.5T..expiry+1s",
			"fault-length of %s: a fault must last, and at most a day", p.Length)
	case from > to:
		c.refuse(in("fault-length", "session-timeout", "tick"), "the shorter one first",
			"fault-length of %s, which is %s to %s", p.Length, from, to)
	case from >= room:
		c.refuse(in("fault-length", "duration", "session-timeout"),
			"duration: "+roundUp(from+s.recovery()+time.Second)+" or more",
			"no fault of %s fits into a run of %s that leaves %s for recovery", from, s.Duration, s.recovery())
	case s.Duration/p.Interval > MaxFaults:
		c.refuse(in("fault-interval", "duration"), "a longer interval",
			"a fault every %s is more than %d in a run of %s", p.Interval, MaxFaults, s.Duration)
	}
	return c.problems
}

// Warnings tells which of the scenario's faults will do something other than one might expect.
func (p *Planned) Warnings(s *Setting) []string {
	var list []string
	warn := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	for _, f := range p.Faults {
		if w := f.kind().warn; w != nil {
			if text := w(s, f); text != "" {
				warn("%s: %s", f, text)
			}
		}
		if f.Until == UntilSuperseded && s.Locks > 1 {
			warn("%s: it lasts until another client happens to take the victim's lock, one of %d", f, s.Locks)
		}
		if s.Duration == 0 {
			warn("%s: a run that ends with its iterations may end before the fault does", f)
		}
	}
	for i, f := range p.Faults {
		if down := s.serversDown(f, p.Faults[:i]); 2*down >= s.Servers && down > 0 {
			warn("%s: %d of %d servers are then out of action, so there is no quorum and no progress until one is healed",
				f, down, s.Servers)
		}
	}
	return list
}

// Relays reports whether the process of a client's host may have to connect to a server through a relay, because a
// fault may act on that connection.
func (p Plan) Relays(client, server string) bool {
	return slices.ContainsFunc(p.Steps, func(s PlannedFault) bool {
		end := server
		if s.Fault.HitsClient() {
			end = client
		}
		return s.Fault.relayed() && mayBeSame(s.Fault.Target, Target(end))
	})
}

// StepsClock reports whether one of the faults shifts a server's wall clock.
func (p Plan) StepsClock() bool {
	return slices.ContainsFunc(p.Steps, func(s PlannedFault) bool { return s.Fault.kind().StepsClock })
}

// Stays reports whether one of the faults leaves a lab that is another one afterwards.
func (p *Planned) Stays() bool {
	return slices.ContainsFunc(p.Faults, func(f Fault) bool { return f.kind().Stays })
}
