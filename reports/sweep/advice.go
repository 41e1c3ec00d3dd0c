package sweep

import (
	"fmt"

	"locklab/harness/check"
	"locklab/reports/words"
)

// busyFrom is the share of time from which on a lock counts as taken all the time.
const busyFrom = 0.9

// Advice says what to do after what was measured.
func (s *Sweep) Advice() (all []string) {
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	violated, missed := 0, 0
	busy := false
	for _, p := range s.points() {
		switch {
		case p.Violation:
			violated++
		case len(s.Saturate) == 0 && p.Verdict != check.Pass:
			missed++
		}
		busy = busy || p.Rate == nil && p.Clients > p.Locks && p.Utilization != nil && *p.Utilization >= busyFrom
	}
	if violated > 0 {
		add("%s a violation. Read the reports of their runs in points/ before you use any figure: a lock that lets two in "+
			"is not made right by a smaller load.", has(violated))
	}
	if missed > 0 {
		add("%s a run that did not pass, without a violation. The table and the reports in points/ say why; such a point "+
			"answers nothing.", has(missed))
	}
	if s.Partial {
		add("The sweep is not complete. locklab sweep --resume, with its directory, goes on.")
	}
	if len(s.Saturate) > 0 {
		for series, p := range s.points() {
			if text := s.plan(p); text != "" {
				add("%s: %s", s.pointName(series, p), text)
			}
		}
	}
	if busy {
		add("Where a lock is taken for %.0f %% of the time or more, more clients only wait, and more processors change "+
			"little. Hold the lock for a shorter time, or split what it protects over several locks (locks: 8).",
			100*busyFrom)
	}
	add("To ask about another load, up to twice the measured one, run locklab plan with this directory. To keep what " +
		"was reached, make a threshold of it: locklab run --threshold 'acquire.p99<…'.")
	return all
}

// plan says what a limit that was found is good for; empty if there is none.
func (s *Sweep) plan(p *Point) string {
	l := p.Limit
	if l == nil || l.Unknown != "" || l.Lower == nil {
		return ""
	}
	if l.Low != nil {
		bound := "most"
		if s.fewest(l) {
			bound = "least"
		}
		return fmt.Sprintf("plan with at %s %s, the safe end of the interval.", bound, s.amount(l.Low))
	}
	return fmt.Sprintf("%s kept the limit, and how sure that is was not measured: leave a margin.",
		words.Upper(s.amount(l.Lower)))
}

// has writes "One point has" or "3 points have".
func has(n int) string {
	if n == 1 {
		return "One point has"
	}
	return words.Count(int64(n), "point") + " have"
}
