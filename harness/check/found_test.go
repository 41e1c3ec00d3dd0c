package check

import (
	"testing"

	"locklab/harness/check/evidence"
)

// A finding is returned only if its check failed, and if its kind and cause are those that were asked for.
func TestFound(t *testing.T) {
	type asked struct {
		check string
		kinds []string
		cause string
	}
	bug := asked{evidence.Liveness, []string{"orphan", "stall"}, ""}
	explained := asked{evidence.BeliefExclusion, []string{"overlap"}, "pause"}
	report := func(name string, result evidence.Result, all ...evidence.Finding) *Report {
		return &Report{Checks: []evidence.Verdict{{Name: name, Result: result, Findings: all}}}
	}
	stall := evidence.Finding{Kind: "stall", Cause: evidence.CauseNone}
	paused := evidence.Finding{Kind: "overlap", Cause: "pause", Explained: true}
	for _, c := range []struct {
		name string
		asked
		report *Report
		want   string
	}{
		{"caught", bug, report(evidence.Liveness, evidence.Fail, evidence.Finding{Kind: "refused"}, stall), "stall"},
		{"explained", explained, report(evidence.BeliefExclusion, evidence.Fail, paused), "overlap"},
		{"nothing found", bug, report(evidence.Liveness, evidence.Pass), ""},
		{"not certain", bug, report(evidence.Liveness, evidence.Unknown, stall), ""},
		{"another kind", bug, report(evidence.Liveness, evidence.Fail, evidence.Finding{Kind: "refused"}), ""},
		{"another check", bug, report(evidence.Fairness, evidence.Fail, stall), ""},
		{"explained, but must not be", bug, report(evidence.Liveness, evidence.Fail,
			evidence.Finding{Kind: "stall", Cause: "pause",
				Explained: true}), ""},
		{"not explained, but must be", explained, report(evidence.BeliefExclusion, evidence.Fail,
			evidence.Finding{Kind: "overlap", Cause: evidence.CauseNone}), ""},
		{"another explanation", explained, report(evidence.BeliefExclusion, evidence.Fail,
			evidence.Finding{Kind: "overlap", Cause: "kill", Explained: true}), ""},
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
