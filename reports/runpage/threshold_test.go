package runpage

import (
	"bytes"
	"strings"
	"testing"

	"locklab/harness/check/evidence"
	"locklab/harness/scenario"
	"locklab/reports/internal/synth"
	"locklab/reports/result"
)

// The verdicts of thresholds are in the result, in the headline and on the page.
func TestThresholdsAreShown(t *testing.T) {
	in := result.NewInput(synth.JudgedRun())
	in.Scenario.Thresholds = []scenario.Threshold{
		{Metric: "overlaps", Op: "==", Limit: 1}, {Metric: "lost_updates", Op: "=="}, {Metric: "stale_accepted", Op: "=="},
	}
	in = result.NewInput(in.Run, in.Report)
	if in.Result.Verdict != evidence.Fail || len(in.Result.Thresholds) != 3 {
		t.Errorf("%s, %+v", in.Result.Verdict, in.Result.Thresholds)
	}
	if want := "Missed: lost_updates == 0, as it came to 1 (and one threshold " +
		"more)."; !strings.Contains(in.Result.Headline, want) {
		t.Errorf("no %q in %q", want, in.Result.Headline)
	}
	var b bytes.Buffer
	if err := page.Execute(&b, newPageView(in, drawing{})); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<h2>Thresholds</h2> <span>1 of 3 met</span>", "Every check came out as this " +
		"scenario expects, but a " +
		"threshold was missed.",
		`<th scope="row">overlaps == 1</th><td class="n">1</td><td class="pass">yes</td><td></td>`,
		`<th scope="row">lost_updates == 0</th><td class="n">1</td><td class="fail">no</td><td>it came to 1</td>`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s on the page", want)
		}
	}

	in.Scenario.Thresholds[0].Metric = "overlap"
	in = result.NewInput(in.Run, in.Report)
	if want := "Unknown whether overlap == 1: there is no such number in " +
		"result.json."; in.Result.Verdict != evidence.Unknown || !strings.Contains(in.Result.Headline, want) {
		t.Errorf("%s; no %q in %q", in.Result.Verdict, want, in.Result.Headline)
	}
}
