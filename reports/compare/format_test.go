package compare

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"locklab/harness/check/evidence"
	"locklab/reports/junit"
	"locklab/reports/result"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// example is a report with one of each verdict, and text that every format must escape.
func example(t *testing.T) Report {
	t.Helper()
	base, head := writeSides(t, 6, 300, 200, func(side string, _ int, s *runSpec) {
		if side == "head" {
			s.recipe = "a|b <c>, 50%"
		}
	})
	r, err := compareDirs(base, head, Options{AllowMismatch: []string{"recipe"}})
	if err != nil || r.Verdict != Regressed {
		t.Fatalf("%s, %v", r.Verdict, err)
	}
	r.Base.Name, r.Head.Name = "out/base", "out/head"
	i := slices.IndexFunc(r.Metrics, func(l Line) bool { return l.Name == "handoff.p50" })
	r.Metrics[i].Verdict, r.Metrics[i].Reason = Inconclusive, "nobody knows: 5 %\nor more"
	return r
}

// A comment on a violation begins with what happened, in words, and says where to see it. No speed is judged.
func TestCommentOnAViolation(t *testing.T) {
	base, head := writeSides(t, 6, 300, 290, func(side string, i int, s *runSpec) {
		if side == "head" && i == 2 {
			s.edit = func(r *result.Result) {
				r.Verdict, r.Outcome, r.Headline = evidence.Fail, result.Violation, "Fail: Two clients held the lock at once"
				r.Checks = []result.CheckLine{{Name: evidence.ServiceExclusion, Result: evidence.Fail, Outcome: evidence.Fail,
					Summary: "2 double grants"}}
			}
		}
	})
	r, err := compareDirs(base, head, Options{})
	if err != nil || r.Verdict != Violation {
		t.Fatalf("%s, %v", r.Verdict, err)
	}
	got, err := Render("markdown", r)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(got), "**Fail: Two clients held the lock at once.**\n\nTo see it: [") ||
		!strings.Contains(string(got), "run-02/report.html), whose picture") ||
		strings.Contains(string(got), "inconclusive") {
		t.Errorf("%s", got)
	}
}

// The comment links to where people who read it find the report.
func TestCommentLinksToTheReport(t *testing.T) {
	github := map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_SERVER_URL": "https://github.example",
		"GITHUB_REPOSITORY": "some/where", "GITHUB_RUN_ID": "17"}
	gitlab := map[string]string{"GITLAB_CI": "true", "CI_JOB_URL": "https://gitlab.example/some/where/-/jobs/17"}
	for _, c := range []struct {
		env        map[string]string
		saw, links string
	}{
		{nil, "runs/gate/head/001", "[runs/gate/head/001/report.html](runs/gate/head/001/report.html), whose"},
		{nil, "runs/a (1)_x", "[runs/a (1)\\_x/report.html](runs/a%20%281%29_x/report.html), whose"},
		{gitlab, "runs/head", "](https://gitlab.example/some/where/-/jobs/17/artifacts/file/runs/head/report.html), whose"},
		{gitlab, "/elsewhere", "[/elsewhere/report.html](/elsewhere/report.html), whose"},
		{github, "runs/head", "runs/head/report.html among [the artifacts of this run]" +
			"(https://github.example/some/where/actions/runs/17#artifacts), whose"},
	} {
		r := example(t)
		r.Says, r.Saw = "It broke.", c.saw
		r.Page = Page(func(name string) string { return c.env[name] }, filepath.Join(c.saw, "report.html"))
		got, err := Render("markdown", r)
		if err != nil || !strings.Contains(string(got), c.links) {
			t.Errorf("%v: no %q in\n%s", err, c.links, got)
		}
	}
}

func TestFormats(t *testing.T) {
	r := example(t)
	for _, format := range formatNames() {
		t.Run(format, func(t *testing.T) {
			got, err := Render(format, r)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", "report."+format)
			if *update {
				if err := errors.Join(os.MkdirAll("testdata", 0o755), os.WriteFile(path, got, 0o644)); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatalf("%v (run with -update to write it)", err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	if _, err := Render("yaml", r); !errors.Is(err, ErrInput) {
		t.Errorf("yaml: %v", err)
	}
}

// A verdict that is not a pass must not look like one to tools that collect tests.
func TestJUnitCounts(t *testing.T) {
	r := example(t)
	b, err := Render("junit", r)
	if err != nil {
		t.Fatal(err)
	}
	var read junit.Document
	if err := xml.Unmarshal(b, &read); err != nil {
		t.Fatal(err)
	}
	failures, faults := 0, 0
	for _, c := range read.Suite.Cases {
		if c.Failure != nil {
			failures++
		}
		if c.Error != nil {
			faults++
		}
	}
	// The whole, throughput, two of acquire; hand-off is the inconclusive one.
	if failures != 4 || faults != 1 || read.Failures != failures || read.Suite.Errors != faults ||
		read.Tests != len(read.Suite.Cases) {
		t.Errorf("%d failures, %d errors; the suite says %d and %d of %d tests", failures, faults, read.Failures,
			read.Suite.Errors, read.Tests)
	}
	r.Verdict, r.Violations = Violation, []string{"two at once"}
	if b, err = Render("junit", r); err != nil || strings.Count(string(b), `type="violation"`) != 2 {
		t.Errorf("a violation is not the whole's and safety's failure: %s, %v", b, err)
	}
}

func TestGitHubEscapes(t *testing.T) {
	b, err := Render("github", example(t))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if !strings.HasPrefix(line, "::error title=") && !strings.HasPrefix(line, "::warning title=") &&
			!strings.HasPrefix(line, "::notice title=") {
			t.Errorf("no workflow command: %q", line)
		}
	}
	if want := "nobody knows: 5 %25%0Aor more\n"; !strings.Contains(string(b), want) {
		t.Errorf("%q is not in\n%s", want, b)
	}
}

func TestJSONReadsBack(t *testing.T) {
	r := example(t)
	b, err := Render("json", r)
	if err != nil {
		t.Fatal(err)
	}
	var read Report
	if err := json.Unmarshal(b, &read); err != nil || read.Verdict != r.Verdict ||
		len(read.Metrics) != len(r.Metrics) || *read.Metrics[0].Change != *r.Metrics[0].Change {
		t.Errorf("%+v, %v", read, err)
	}
}
