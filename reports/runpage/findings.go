package runpage

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"locklab/harness/check/evidence"
	"locklab/reports/measure"
	"locklab/reports/result"
	"locklab/reports/timeline"
	"locklab/reports/words"
)

// A findingGroup is the findings of one pattern: of one check and kind, on one lock, by one client, with one kind of
// cause.
type findingGroup struct {
	Says     string // one sentence for all of them
	Examples []example
	Rest     string // what is known of the others, in numbers
	More     int    // how many others there are
}

// An example is a finding that the page shows whole.
type example struct {
	evidence.Finding
	Link *zoom
}

// A zoom leads to the span of a finding on a timeline.
type zoom struct {
	Picture  string
	From, To int64 // µs of the run
}

// shownExamples is how many findings of a pattern the page shows whole, unless there is only one more.
const shownExamples = 2

// subject is the client that a finding is about, and the others in it. In an overlap that is the older holder, who
// should have gone; in other findings the last one, before whom stands the one that superseded it.
func subject(f *evidence.Finding) (client string, others []string) {
	last := len(f.Clients) - 1
	switch {
	case last < 0:
		return "", nil
	case result.IsOverlap(f):
		return f.Clients[0], f.Clients[1:]
	}
	return f.Clients[last], f.Clients[:last]
}

// groupFindings puts the findings of a check together by pattern, in the order in which they were found.
func groupFindings(v *evidence.Verdict, timelines []timeline.Timeline) (groups []findingGroup) {
	by := map[[4]string][]evidence.Finding{}
	var order [][4]string
	for _, f := range v.Findings {
		client, _ := subject(&f)
		key := [...]string{string(f.Kind), f.Lock, f.Cause, client}
		if by[key] == nil {
			order = append(order, key)
		}
		by[key] = append(by[key], f)
	}
	for _, key := range order {
		groups = append(groups, newGroup(by[key], timelines))
	}
	return groups
}

func newGroup(all []evidence.Finding, timelines []timeline.Timeline) findingGroup {
	g := findingGroup{Says: sentenceOf(all)}
	if len(all) > shownExamples+1 {
		g.More = len(all) - shownExamples
	}
	for _, f := range all[:len(all)-g.More] {
		g.Examples = append(g.Examples, example{f, zoomTo(f, timelines)})
	}
	var rest []string
	for _, f := range all[len(all)-g.More:] {
		s := words.Instant(f.At)
		if len(f.Tokens) > 0 {
			s += " token " + fmt.Sprint(f.Tokens[len(f.Tokens)-1])
		}
		if len(f.Numbers) > 0 {
			s += fmt.Sprintf(" (lines %s)", strings.Trim(fmt.Sprint(f.Numbers), "[]"))
		}
		rest = append(rest, s)
	}
	g.Rest = strings.Join(rest, "; ")
	return g
}

// sentenceOf says what the findings of a pattern have in common.
func sentenceOf(all []evidence.Finding) string {
	f := all[0]
	s := words.Upper(f.Kind.Words())
	if client, _ := subject(&f); client != "" {
		s += " of " + client
		var others []string
		for i := range all {
			_, with := subject(&all[i])
			for _, c := range with {
				if c != client && !slices.Contains(others, c) {
					others = append(others, c)
				}
			}
		}
		slices.SortFunc(others, measure.CompareNatural)
		if len(others) > 0 {
			s += " with " + enumerate(others, 6)
		}
	}
	if f.Lock != "" {
		s += " on " + f.Lock
	}
	first, last := f, f
	for _, o := range all {
		if o.At < first.At {
			first = o
		}
		if cmp.Or(o.Until, o.At) > cmp.Or(last.Until, last.At) {
			last = o
		}
	}
	if n := int64(len(all)); n > 1 {
		s += fmt.Sprintf(": %s times, from %s to %s", words.Grouped(n), words.Instant(first.At),
			words.Instant(max(last.Until, last.At)))
	} else {
		s += " at " + words.Instant(f.At)
	}
	switch {
	case f.Cause == evidence.CauseNone:
		s += "; no fault explains it"
	case f.Cause != "" && f.Fault != "":
		var faults []string
		for _, o := range all {
			if !slices.Contains(faults, o.Fault) {
				faults = append(faults, o.Fault)
			}
		}
		s += "; explained by " + f.Cause + " " + enumerate(faults, 6)
	case f.Cause != "":
		s += "; explained by: " + f.Cause
	}
	return s + "."
}

// enumerate writes some of the names, and how many more there are.
func enumerate(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// zoomTo returns where a finding can be seen: on the shortest timeline that has it; nil if none does.
func zoomTo(f evidence.Finding, timelines []timeline.Timeline) *zoom {
	var best *timeline.Timeline
	for i := range timelines {
		t := &timelines[i]
		if f.At >= t.From && f.At < t.Until && (t.Overview != nil || t.Lock == f.Lock) &&
			(best == nil || t.Lasts() < best.Lasts()) {
			best = t
		}
	}
	if best == nil {
		return nil
	}
	pad := max(f.Until-f.At, 10e6)
	return &zoom{best.File, max(f.At-pad, best.From) / 1e3, min(max(f.Until, f.At)+pad, best.Until) / 1e3}
}
