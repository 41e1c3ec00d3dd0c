package runpage

import (
	"fmt"

	"locklab/reports/result"
	"locklab/reports/words"
	"locklab/workloads/guard"
)

// adviceSection says what a reader is to do after what the run showed: nothing after a run without damage, and what
// stops the damage or shows the violation again after others.
func adviceSection(in result.Input) section {
	s := section{ID: "what-to-do", Title: "What to do", Open: true}
	r := &in.Result
	switch {
	case r.Outcome == result.Violation:
		s.Brief = "see it again, then report it"
		for i := range in.Report.Checks {
			if v := &in.Report.Checks[i]; v.Violation {
				s.Parts = append(s.Parts, part{List: texts.Lines("violation", map[string]any{"Check": v, "Seed": r.Seed})})
			}
		}
		if harmed(r) {
			s.Parts = append(s.Parts, guardAdvice(r))
		}
	case r.Outcome == result.DamageShown || harmed(r):
		s.Brief = "make the resource refuse outdated accesses"
		s.Parts = append(s.Parts, guardAdvice(r))
	case r.Outcome == result.ThresholdMissed:
		s.Brief = "look at what was missed"
		s.prose("missed", nil)
	case r.Outcome == result.Inconclusive:
		s.Brief = "find out what was missing"
		s.prose("inconclusive", nil)
	default:
		s.Open, s.Brief = false, "nothing"
		s.prose("nothing", nil)
	}
	return s
}

// harmed reports whether the run has damage to the data that a guard would have kept from it.
func harmed(r *result.Result) bool {
	positive := func(n *int64) bool { return n != nil && *n > 0 }
	return positive(r.Safety.StaleAccepted) || positive(r.Safety.LostUpdates)
}

// guardAdvice says which guards stop damage and how each is built.
func guardAdvice(r *result.Result) part {
	return part{Heading: "What stops this damage", Note: texts.Lines("guard", r.Guard)[0],
		List: append(guard.HowTo(), texts.Lines("guards", r.Guard)...)}
}

// measured says in a sentence what was measured, for a reader who has not run it.
func measured(in result.Input) string {
	kinds, n := []string{}, map[string]int{}
	for _, f := range in.Result.Faults {
		if n[f.Kind]++; n[f.Kind] == 1 {
			kinds = append(kinds, f.Kind)
		}
	}
	for i, k := range kinds {
		if n[k] > 1 {
			kinds[i] = fmt.Sprintf("%s (%d times)", k, n[k])
		}
	}
	return texts.Lines("measured", struct {
		result.Input
		Kinds []string
	}{in, kinds})[0]
}

func count(n int, noun string) string { return words.Count(int64(n), noun) }
