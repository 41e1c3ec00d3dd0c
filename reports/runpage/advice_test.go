package runpage

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"locklab/reports/internal/synth"
	"locklab/reports/result"
	"locklab/workloads/guard"
)

// advised renders a run's page and returns it.
func advised(t *testing.T, in result.Input) string {
	t.Helper()
	dir := t.TempDir()
	if err := Render(dir, in); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// After damage the page says how to stop it, and shows nothing in green because it was expected. What was measured
// comes before the verdict, and terms are explained.
func TestPageAfterDamage(t *testing.T) {
	page := advised(t, Input(synth.Act2Run(false)))
	for _, want := range []string{"AND token &lt;= :token", "If-Match", "lease", "mutex-pause-fencing", guard.Manual,
		`<td role="cell" data-label="as expected">damage, as expected</td>`, `id="glossary"`,
		`<abbr title="`, "guard none (this run)"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	measured, verdict := strings.Index(page, "What was measured: "), strings.Index(page, "<h1>")
	if measured < 0 || measured > verdict {
		t.Errorf("what was measured stands at %d, and the verdict at %d", measured, verdict)
	}
	if n := strings.Count(page, `<abbr title="A number that each grant`); n > 1 {
		t.Errorf("the token is explained %d times before the glossary", n)
	}
}

// After a violation the page says which check, which operations, and how to see it again.
func TestPageAfterAViolation(t *testing.T) {
	in := Input(synth.UnlockedRun())
	if in.Result.Outcome != result.Violation {
		t.Fatalf("the run's outcome is %s", in.Result.Outcome)
	}
	page := advised(t, in)
	for _, want := range []string{"failed, which must not happen here", "lines ", "of history.jsonl",
		"locklab run ./scenario.yaml", "locklab check"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// A term is marked once, as a word of its own, and everything else is escaped.
func TestTermsAreMarkedOnce(t *testing.T) {
	e := explainer{map[string]bool{}}
	first, second := string(e.mark("2 tokens <b> & a tokenizer, drained")), string(e.mark("a token, and a zxid"))
	if !strings.HasPrefix(first, `2 <abbr title="A number`) ||
		!strings.HasSuffix(first, `>tokens</abbr> &lt;b&gt; &amp; a tokenizer, drained`) {
		t.Errorf("%s", first)
	}
	if !strings.HasPrefix(second, `a token, and a <abbr title="The number of a transaction`) {
		t.Errorf("%s", second)
	}
}
