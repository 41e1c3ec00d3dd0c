package runpage

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"locklab/harness/check/evidence"
	"locklab/harness/check/spans"
	"locklab/reports/internal/synth"
	"locklab/reports/timeline"
)

// Findings of one pattern have one sentence, a few examples, and the rest in numbers.
func TestFindingsAreGrouped(t *testing.T) {
	v := &evidence.Verdict{}
	for i, other := range []string{"c2/1", "c3/1", "c2/1", "c10/1"} {
		v.Findings = append(v.Findings, evidence.Finding{Kind: "overlap", Lock: synth.TheLock,
			At:    synth.Ms(100 * float64(i+1)),
			Until: synth.Ms(100*float64(i+1) + 50), Clients: []string{"c1/1", other}, Tokens: []int64{7, int64(8 + i)},
			Cause: "pause", Fault: []string{"f1", "f1", "f2", "f2"}[i], Text: "text " + other, Numbers: []int{10 + i, 20 + i}})
	}
	v.Findings = append(v.Findings, evidence.Finding{Kind: "lost-update", Lock: synth.TheLock, At: synth.Ms(900),
		Clients: []string{"c2/1", "c4/1"}, Cause: evidence.CauseNone, Text: "lost"})
	shown := timeline.Timeline{File: "timeline", Scene: timeline.Scene{Span: spans.Span{Until: synth.Ms(250)},
		Lock: synth.TheLock}}
	groups := groupFindings(v, []timeline.Timeline{shown})
	var says []string
	for _, g := range groups {
		says = append(says, g.Says)
	}
	want := []string{"Overlap of c1/1 with c2/1, c3/1, c10/1 on /locks/0: 4 times, from 0.100 s to 0.450 s; explained " +
		"by pause f1, f2.", "Lost update of c4/1 with c2/1 on /locks/0 at 0.900 s; no fault explains it."}
	if diff := cmp.Diff(want, says); diff != "" {
		t.Errorf("sentences (-want +got):\n%s", diff)
	}
	g := groups[0]
	if len(g.Examples) != shownExamples || g.More != 2 || strings.Contains(g.Rest, "text") ||
		g.Rest != "0.300 s token 10 (lines 12 22); 0.400 s token 11 (lines 13 23)" {
		t.Errorf("%d examples, %d more: %q", len(g.Examples), g.More, g.Rest)
	}
	if link := g.Examples[0].Link; link == nil || *link != (zoom{"timeline", 50_000, 200_000}) {
		t.Errorf("the first leads to %+v", link)
	}
	if groups[1].Examples[0].Link != nil {
		t.Error("a finding that no timeline shows leads to one")
	}
}
