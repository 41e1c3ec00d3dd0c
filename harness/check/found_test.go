package check

import "testing"

// A finding is returned only if its check failed, and if its kind and cause are those that were asked for.
func TestFound(t *testing.T) {
	type asked struct {
		check string
		kinds []string
		cause string
	}
	bug := asked{Liveness, []string{"orphan", "stall"}, ""}
	explained := asked{BeliefExclusion, []string{"overlap"}, "pause"}
	report := func(name string, result Result, all ...Finding) *Report {
		return &Report{Checks: []Verdict{{Name: name, Result: result, Findings: all}}}
	}
	stall := Finding{Kind: "stall", Cause: CauseNone}
	paused := Finding{Kind: "overlap", Cause: "pause", Explained: true}
	for _, c := range []struct {
		name string
		asked
		report *Report
		want   string
	}{
		{"caught", bug, report(Liveness, Fail, Finding{Kind: "refused"}, stall), "stall"},
		{"explained", explained, report(BeliefExclusion, Fail, paused), "overlap"},
		{"nothing found", bug, report(Liveness, Pass), ""},
		{"not certain", bug, report(Liveness, Unknown, stall), ""},
		{"another kind", bug, report(Liveness, Fail, Finding{Kind: "refused"}), ""},
		{"another check", bug, report(Fairness, Fail, stall), ""},
		{"explained, but must not be", bug, report(Liveness, Fail, Finding{Kind: "stall", Cause: "pause",
			Explained: true}), ""},
		{"not explained, but must be", explained, report(BeliefExclusion, Fail,
			Finding{Kind: "overlap", Cause: CauseNone}), ""},
		{"another explanation", explained, report(BeliefExclusion, Fail,
			Finding{Kind: "overlap", Cause: "kill", Explained: true}), ""},
	} {
		got := ""
		if f := c.report.Found(c.check, c.kinds, c.cause); f != nil {
			got = string(f.Kind)
		}
		if got != c.want {
			t.Errorf("%s: found %q, want %q", c.name, got, c.want)
		}
	}
}
