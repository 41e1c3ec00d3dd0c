package simulate

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"locklab/reports/words"
)

// A Shrunk is a run that shows a violation, and of which nothing can be left out: without any single one of its faults,
// or of its clients' turns at the lock, it does not show that violation any more.
type Shrunk struct {
	*Run `json:"-"`
	// Finding is the violation.
	Finding Finding `json:"finding"`
	// Before and After are what the run consisted of.
	Before Size `json:"before"`
	After  Size `json:"after"`
	// Tries is how many runs it took, and Took how long.
	Tries int           `json:"tries"`
	Took  time.Duration `json:"took_ns"`
	// Steps tell the run.
	Steps []Step `json:"steps"`
}

// A Size is what a run consists of.
type Size struct {
	Faults  int `json:"faults"`
	Clients int `json:"clients"` // that want the lock at least once
	Turns   int `json:"turns"`   // in which a client wants the lock, once
}

func (s Size) String() string {
	return fmt.Sprintf("%s, %s and %s at the lock", words.Count(int64(s.Faults), "fault"),
		words.Count(int64(s.Clients), "client"), words.Count(int64(s.Turns), "turn"))
}

// size returns what a plan consists of.
func (p *plan) size() Size {
	s := Size{Faults: len(p.faults)}
	for _, all := range p.turns {
		if s.Turns += len(all); len(all) > 0 {
			s.Clients++
		}
	}
	return s
}

// A part is a fault of a run, or a turn of a client.
type part struct {
	at     time.Duration
	fault  *planned // nil = a turn
	client int
}

// A shrinker leaves out parts of a run as long as it shows the same violation.
type shrinker struct {
	ctx   context.Context
	of    plan // whose parts they are
	want  Finding
	begun time.Time
	short bool // the run ends soon after its last part
	tries int
	spent int  // parts of the runs with other delays
	last  *Run // the last that showed the violation
}

// What is left of a run meets at other instants, and a violation may need two things to happen at one. So what does not
// show it with the delays that it had is tried with others. Runs cost what their parts do: of small ones more can be
// tried.
const (
	// luck is how many parts are tried with other delays, at least leastLuck times and at most mostLuck times all.
	luck, leastLuck, mostLuck = 200, 3, 20
	// lucky is after how many parts that ends. Then the rest is made as small as it can be with the delays that it has.
	lucky = 8_000
)

// Shrink returns the smallest run that it finds by leaving out faults and turns of a run that shows a violation, and
// finds out which of its steps decides. Its error is that of ctx, or says that the run does not repeat.
func Shrink(ctx context.Context, run *Run) (*Shrunk, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(collectAt))
	x, err := shrink(ctx, run)
	if err == nil {
		err = x.branch(ctx)
	}
	return x, err
}

// shrink leaves out what it can.
func shrink(ctx context.Context, run *Run) (*Shrunk, error) {
	all := run.Findings()
	i := slices.IndexFunc(all, func(f Finding) bool { return f.Violation })
	if i < 0 {
		return nil, fmt.Errorf("seed %d shows no violation", run.Seed)
	}
	s := &shrinker{ctx: ctx, of: *run.plan, want: all[i], begun: time.Now(), short: true}
	whole := run.plan.parts()
	parts := s.around(all[i].At, whole)
	if len(parts) == len(whole) { // what it comes from may be long before it
		if !s.try(parts) {
			if s.short = false; !s.try(parts) {
				return nil, fmt.Errorf("seed %d does not show the violation again", run.Seed)
			}
		}
		if parts = s.beginning(parts); len(parts) > 0 {
			parts = s.around(parts[len(parts)-1].at, parts)
		}
	}
	parts = s.without(parts, func(p part) bool { return p.fault != nil })
	for c := range run.plan.turns {
		parts = s.without(parts, func(p part) bool { return p.fault == nil && p.client == c })
	}
	for size := len(parts) / 2; size > 1; size /= 2 {
		parts = s.sieve(parts, size)
	}
	if s.short { // the end stays where it is from now on
		parts = s.sieve(parts, 1)
		s.of, s.short = *s.last.plan, false
	}
	for left := s.sieve(parts, 1); len(left) < len(parts); left = s.sieve(parts, 1) {
		parts = left
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	x := &Shrunk{Run: s.last, Before: run.plan.size(), After: s.last.plan.size(), Tries: s.tries,
		Took: time.Since(s.begun)}
	i = slices.IndexFunc(s.last.Findings(), s.want.same)
	x.Finding, x.Steps = s.last.Findings()[i], x.tell()
	return x, nil
}

// beginning returns a beginning of the parts that shows the violation, and does not without the last of them. All that
// comes before happens as it did, so it is found by halving.
func (s *shrinker) beginning(parts []part) []part {
	shows, not := len(parts), -1
	for shows-not > 1 && s.ctx.Err() == nil {
		if n := (shows + not) / 2; s.try(parts[:n]) {
			shows = n
		} else {
			not = n
		}
	}
	return parts[:shows]
}

// around returns the parts around an instant that show the violation, if only these do; or all.
func (s *shrinker) around(at time.Duration, parts []part) []part {
	for d := 100 * time.Millisecond; at > 0 && d < 2*at; d *= 3 {
		near := slices.DeleteFunc(slices.Clone(parts), func(p part) bool {
			return p.at > at+d || p.at < at-d && (p.fault == nil || p.at+p.fault.lasts < at-d)
		})
		if s.try(near) {
			return near
		}
	}
	return parts
}

// same reports whether two findings are of the same kind.
func (f Finding) same(g Finding) bool {
	return f.Check == g.Check && f.Kind == g.Kind && f.Violation == g.Violation
}

// parts returns all parts of a run by time.
func (p *plan) parts() (all []part) {
	for i := range p.faults {
		all = append(all, part{at: p.faults[i].at, fault: &p.faults[i]})
	}
	for c, turns := range p.turns {
		for _, at := range turns {
			all = append(all, part{at: at, client: c})
		}
	}
	slices.SortStableFunc(all, func(a, b part) int { return cmp.Compare(a.at, b.at) })
	return all
}

// without returns parts without some of them, if the rest shows the violation.
func (s *shrinker) without(parts []part, some func(part) bool) []part {
	left := slices.DeleteFunc(slices.Clone(parts), some)
	if len(left) < len(parts) && s.shows(left) {
		return left
	}
	return parts
}

// sieve leaves out so many parts at a time, in turn.
func (s *shrinker) sieve(parts []part, size int) []part {
	for i := 0; i < len(parts) && s.ctx.Err() == nil; {
		left := slices.Delete(slices.Clone(parts), i, min(i+size, len(parts)))
		if s.shows(left) {
			parts = left
		} else {
			i += size
		}
	}
	return parts
}

// shows reports whether a run of these parts shows the violation. It tries other delays too, and goes on with those.
func (s *shrinker) shows(parts []part) bool {
	draws, others := s.of.draws, min(max(luck/max(len(parts), 1), leastLuck), mostLuck)
	for n := 0; ; n++ {
		if s.ctx.Err() != nil || s.try(parts) {
			return s.ctx.Err() == nil
		}
		if n == others || s.last == nil || s.spent > lucky {
			s.of.draws = draws
			return false
		}
		s.spent += len(parts)
		s.of.draws = s.of.seed + uint64(s.tries)
	}
}

// try reports whether a run of these parts shows the violation.
func (s *shrinker) try(parts []part) bool {
	p := s.of
	p.faults, p.turns = nil, make([][]time.Duration, p.clients)
	var end time.Duration
	for _, x := range parts {
		if x.fault != nil {
			p.faults = append(p.faults, *x.fault)
			end = max(end, x.at+x.fault.lasts)
		} else {
			p.turns[x.client] = append(p.turns[x.client], x.at)
			end = max(end, x.at)
		}
	}
	if end += time.Second; s.short && end < p.heal {
		p.stop -= p.heal - end
		p.heal = end
	}
	run := execute(&p)
	s.tries++
	shows := slices.ContainsFunc(run.Findings(), s.want.same)
	if shows {
		run.plan.turns, run.plan.faults = p.turns, p.faults
		s.last = run
	}
	return shows
}
