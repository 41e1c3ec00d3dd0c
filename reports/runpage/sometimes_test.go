package runpage

import (
	"bytes"
	"strings"
	"testing"

	"locklab/harness/check/evidence"
	"locklab/reports/internal/synth"
	"locklab/reports/result"
)

// The page says of each condition whether it was met, and heads a run that was to show damage and did.
func TestConditionsAreShown(t *testing.T) {
	in := result.NewInput(synth.JudgedRun())
	in.Result.Sometimes = []evidence.ConditionCount{
		{Condition: "overlap", Means: "two at once", Met: true, Count: new(int64(3))},
		{Condition: "hold-lost", Means: "a hold was lost", Count: new(int64(0))},
		{Condition: "stale-access", Means: "a stale access"},
	}
	var b bytes.Buffer
	if err := page.Execute(&b, newPageView(in, drawing{})); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`<div class="verdict damage-shown">`, `<h1>Damage shown, as expected</h1>`,
		`<th scope="row">overlap</th><td class="n">3</td><td class="pass">yes</td><td>two at once</td>`,
		`<th scope="row">hold-lost</th><td class="n">0</td><td class="unknown">no</td><td>a hold was lost</td>`,
		`<th scope="row">stale-access</th><td class="n">n/a</td><td class="unknown">no</td><td>a stale access</td>`,
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s on the page", want)
		}
	}
}
