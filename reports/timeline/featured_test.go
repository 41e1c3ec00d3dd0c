package timeline

import (
	"testing"

	"locklab/harness/check"
	"locklab/harness/check/evidence"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/reports/result"
)

// The picture is about the finding that says most of the run.
func TestFeatured(t *testing.T) {
	overlap := func(older string, token, at int64, explained bool) evidence.Finding {
		return evidence.Finding{Kind: "overlap", Lock: "/l", At: at, Clients: []string{older, "c9/0"},
			Tokens: []int64{token, token + 1}, Explained: explained}
	}
	stale := func(kind evidence.Kind, client string, token int64, untold bool) evidence.Finding {
		return evidence.Finding{Kind: kind, Lock: "/l", Clients: []string{"c9/0", client}, Tokens: []int64{token + 1, token},
			Explained: true, Untold: untold}
	}
	beliefs := func(all ...evidence.Finding) evidence.Verdict {
		return evidence.Verdict{Name: evidence.BeliefExclusion, Result: evidence.Fail, Findings: all}
	}
	effect := func(violation bool, all ...evidence.Finding) evidence.Verdict {
		return evidence.Verdict{Name: evidence.Effect, Result: evidence.Fail, Findings: all, Violation: violation}
	}
	broken := func(name, kind string, at int64) evidence.Verdict {
		return evidence.Verdict{Name: name, Result: evidence.Fail, Violation: true,
			Findings: []evidence.Finding{{Kind: evidence.Kind(kind), Lock: "/l", At: at}}}
	}
	first, second, third := overlap("c1/0", 5, 100, true), overlap("c1/0", 15, 200, true),
		overlap("c1/0", 25, 300, true)
	for _, c := range []struct {
		name, scenario string
		checks         []evidence.Verdict
		check          string
		at             int64
	}{
		{"nothing", "mutex", nil, "", 0},
		{"the first of equal overlaps", "mutex-pause", []evidence.Verdict{beliefs(second, first)},
			evidence.BeliefExclusion, 100},
		{"the overlap with the untold write", "mutex-pause", []evidence.Verdict{beliefs(first, second, third),
			effect(false, stale("stale-accepted", "c1/0", 5, false), stale("lost-update", "c1/0", 5, false),
				stale("stale-accepted", "c1/0", 15, true), stale("stale-accepted", "c1/0", 25, false))},
			evidence.BeliefExclusion, 200},
		{"the overlap with the write that was refused", "mutex-pause-fencing", []evidence.Verdict{beliefs(first, second),
			effect(false, stale("stale-rejected", "c1/0", 15, false))}, evidence.BeliefExclusion, 200},
		{"an untold write that was refused", "mutex-pause-fencing", []evidence.Verdict{beliefs(first, second, third),
			effect(false, stale("stale-rejected", "c1/0", 15, false), stale("stale-rejected", "c1/0", 25, true))},
			evidence.BeliefExclusion, 300},
		{"an overlap that nothing explains", "mutex-pause", []evidence.Verdict{broken(evidence.ServiceExclusion, "a", 1),
			beliefs(first, overlap("c2/0", 7, 150, false)), effect(true, stale("stale-accepted", "c1/0", 5, true))},
			evidence.BeliefExclusion, 150},
		{"a violation", "mutex-pause", []evidence.Verdict{beliefs(first), broken(evidence.Liveness, "stall", 42)},
			evidence.Liveness,
			42},
		{"damage beside an overlap", "mutex-pause",
			[]evidence.Verdict{beliefs(first), broken(evidence.Effect, "stale-read", 42)},
			evidence.BeliefExclusion, 100},
		{"damage and another violation", "mutex-pause", []evidence.Verdict{broken(evidence.Effect, "stale-read", 42),
			broken(evidence.Liveness, "stall", 43)}, evidence.Liveness, 43},
		{"damage alone", "mutex-pause", []evidence.Verdict{broken(evidence.Effect, "stale-read", 42)}, evidence.Effect, 42},
		{"a known bug", "repro-sequence-token", []evidence.Verdict{
			broken(evidence.ServiceExclusion, "grant-without-znode", 1),
			broken(evidence.Tokens, "token-fell", 50)}, evidence.Tokens, 50},
		{"a known bug that did not show", "repro-sequence-token", []evidence.Verdict{broken(evidence.Liveness, "stall", 42)},
			evidence.Liveness, 42},
		{"a bug that is not known", "repro-nothing", []evidence.Verdict{broken(evidence.ServiceExclusion, "a", 1),
			broken(evidence.Tokens, "token-fell", 50)}, evidence.ServiceExclusion, 1},
	} {
		name, f := featured(result.Input{Run: &rundir.Run{Scenario: &scenario.Scenario{Name: c.scenario}},
			Report: check.Report{Checks: c.checks}})
		at := int64(0)
		if f != nil {
			at = f.At
		}
		if name != c.check || at != c.at {
			t.Errorf("%s: %s at %d, want %s at %d", c.name, name, at, c.check, c.at)
		}
	}
}
