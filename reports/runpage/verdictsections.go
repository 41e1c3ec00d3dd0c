package runpage

import (
	"cmp"
	"fmt"

	"locklab/harness/check/evidence"
	"locklab/reports/doc"
	"locklab/reports/result"
	"locklab/reports/timeline"
)

func checksSection(in result.Input) section {
	r := &in.Result
	s := section{ID: "checks", Title: "Checks", Open: true}
	t := doc.NewTable("Every check, what was expected of it and what it found",
		"check", "expected", "result", "as expected", "what was found")
	wrong, damaged := 0, 0
	for _, c := range r.Checks {
		as := met(c.Outcome)
		switch {
		case c.Idle():
			as = "–"
		case c.Outcome != evidence.Pass:
			wrong++
		}
		row := t.Add(c.Name, string(c.Expected), string(c.Result), as, c.Summary)
		if row[3].Class = string(c.Outcome); c.Result == evidence.Fail && c.Outcome == evidence.Pass {
			row[3].Text, row[3].Class = "damage, as expected", "" // which is no good news
			if c.Expected != evidence.ExpectFail {
				row[3].Text = "damage, which is allowed"
			}
			damaged++
		}
	}
	s.table(t)
	if len(r.Checks) == 0 {
		s.note("Nothing was checked.")
		return s
	}
	s.Brief = "all as expected"
	if damaged > 0 {
		s.Brief += fmt.Sprintf(", %d of them damage", damaged)
	}
	if wrong > 0 {
		s.Brief = fmt.Sprintf("%d of %d not as expected", wrong, len(r.Checks))
	}
	s.note(fmt.Sprintf("%d of %d checks of the lock could judge.", r.ChecksJudged, r.ChecksTotal))
	if len(r.Sometimes) > 0 {
		t := doc.NewTable("What had to happen for the run to mean anything", "condition", "#how often", "met", "meaning")
		for _, c := range r.Sometimes {
			row := t.Add(c.Condition, number(c.Count), yes(c.Met), c.Means)
			if row[2].Class = string(evidence.Pass); !c.Met {
				row[2].Class = string(evidence.Unknown)
			}
		}
		s.table(t)
		s.note("A run in which one of these never happened proves nothing, and is unknown.")
	}
	return s
}

func thresholdsSection(in result.Input) section {
	s := section{ID: "thresholds", Title: "Thresholds", Open: len(in.Result.Thresholds) > 0, Brief: "none were set"}
	t := doc.NewTable("Every threshold and the value that it judges", "threshold", "#value", "met", "why")
	missed := 0
	for _, l := range in.Result.Thresholds {
		if l.Verdict != evidence.Pass {
			missed++
		}
		t.Add(l.Expr, l.Shown(), met(l.Verdict), l.Reason)[2].Class = string(l.Verdict)
	}
	s.table(t)
	if len(t.Rows) == 0 {
		s.note("The scenario sets no thresholds.")
		return s
	}
	s.Brief = fmt.Sprintf("%d of %d met", len(t.Rows)-missed, len(t.Rows))
	return s
}

// findingsSection shows what the checks found, by patterns.
func findingsSection(in result.Input, timelines []timeline.Timeline) section {
	s := section{ID: "findings", Title: "Findings"}
	n := int64(0)
	for i := range in.Report.Checks {
		v := &in.Report.Checks[i]
		if len(v.Findings) == 0 {
			continue
		}
		s.Open = true
		n += max(int64(len(v.Findings)), v.Count)
		s.Parts = append(s.Parts, part{Heading: v.Name + ": " + v.Summary, Groups: groupFindings(v, timelines)})
		if more := v.Count - int64(len(v.Findings)); more > 0 {
			s.note(fmt.Sprintf("%d more were counted and not kept.", more))
		}
	}
	if n == 0 {
		s.note("No check found anything to show.")
	}
	s.Brief = fmt.Sprintf("%d in all", n)
	if len(in.Report.Resolved) > 0 {
		var all []string
		for _, r := range in.Report.Resolved {
			all = append(all, fmt.Sprintf("%s %s: %s", r.Op, r.Fate, r.Text))
		}
		s.Parts = append(s.Parts, part{Heading: "Operations without an answer, and their outcome by the servers’ logs",
			List: all})
	}
	return s
}

// faultsSection lists the faults.
func faultsSection(in result.Input, parts []part, left int) section {
	r := &in.Result
	s := section{ID: "faults", Title: "Faults", Brief: "none were injected"}
	if len(r.Faults) == 0 {
		s.note("No faults were injected.")
		return s
	}
	s.Brief = fmt.Sprintf("%d injected", len(r.Faults))
	s.Open = len(r.Faults) <= 8 || len(parts) > 0
	t := doc.NewTable("Every fault, as the agent on the host that was hit recorded it; times are seconds of the run",
		"fault", "target", "#requested", "#injected", "verified", "#healed", "healing verified", "note")
	for _, f := range r.Faults {
		t.Add(f.Kind, f.Target, at(f.RequestedNs), at(f.InjectedNs), yes(f.Verified), at(f.HealedNs), yes(f.HealVerified),
			cmp.Or(f.Detail, f.Done))
	}
	s.table(t)
	s.note("A fault whose effect was not seen makes the run unknown.")
	s.Parts = append(s.Parts, parts...)
	if left > 0 {
		s.note(fmt.Sprintf("%d more faults or findings have no picture of their own; those whose effect lasted longest have.",
			left))
	}
	return s
}
