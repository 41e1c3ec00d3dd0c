package inspect

import (
	"fmt"

	"locklab/harness/untrusted"
)

// Changes says in a line each what has changed from one report to the next. Before is nil at first.
func (r *Report) Changes(before *Report) []string {
	was := map[string]*Lock{}
	for _, l := range before.locks() {
		was[l.Path] = l
	}
	var lines []string
	for _, l := range r.locks() {
		lines = append(lines, l.changes(was[l.Path])...)
		delete(was, l.Path)
	}
	for _, l := range before.locks() {
		if was[l.Path] != nil && r.Incomplete == "" {
			lines = append(lines, untrusted.Line(l.Path)+": it is no longer there, or empty")
		}
	}
	return lines
}

// locks returns the one lock, or all of them; none of no report.
func (r *Report) locks() []*Lock {
	switch {
	case r == nil:
		return nil
	case r.Lock != nil:
		return []*Lock{r.Lock}
	}
	return r.Locks
}

func (l *Lock) changes(before *Lock) (lines []string) {
	say := func(format string, args ...any) {
		lines = append(lines, untrusted.Line(l.Path+": "+fmt.Sprintf(format, args...)))
	}
	old := map[string]*Contender{}
	for _, c := range before.all() {
		old[c.Path] = c
	}
	for _, c := range l.all() {
		was := old[c.Path]
		delete(old, c.Path)
		session := ""
		if c.Session != "" {
			session = " (session " + c.Session + ")"
		}
		switch {
		case c.Holds && (was == nil || !was.Holds):
			say("%s holds it%s", c.Name(), session)
		case was == nil:
			say("%s waits%s", c.Name(), session)
		}
		if c.Revoked && (was == nil || !was.Revoked) {
			say("%s is asked to leave", c.Name())
		}
	}
	for _, c := range before.all() {
		if old[c.Path] != nil {
			say("%s is gone", c.Name())
		}
	}
	if l.Verdict.Bad() && (before == nil || before.Verdict != l.Verdict) {
		say("it is %s: %s", l.Verdict, l.Because)
	}
	return lines
}
