package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"locklab/harness/check/evidence"
	"locklab/harness/console"
	"locklab/harness/judge"
	"locklab/harness/run"
	"locklab/harness/series"
	"locklab/recipes/broken"
	"locklab/recipes/curator"
)

// reproduction returns what came of a known bug.
func reproduction(t *testing.T, name string, shown bool) series.Reproduction {
	t.Helper()
	bug, ok := broken.Find(name)
	if !ok {
		t.Fatal(name)
	}
	r := series.Reproduction{Bug: bug, Attempts: 2, Outcome: judge.Outcome{Dir: "runs/x/attempt-2"}}
	r.Outcome.Report.Checks = []evidence.Verdict{{Name: string(bug.Check), Result: evidence.Pass, Summary: "all moved on"}}
	if shown {
		r.Finding = &evidence.Finding{Kind: evidence.Kind(bug.Kinds[0]), Text: "it got stuck", Zxids: []string{"0x1", "0x2"}}
	}
	return r
}

// The command ends with 0 if every bug that has to show was caught, with 6 if one was not shown, and otherwise as any
// command.
func TestReproExitCodes(t *testing.T) {
	caught, missed := reproduction(t, "lost-wakeup", true), reproduction(t, "lost-create", false)
	seldom := reproduction(t, "zookeeper-commits-nothing", false)
	for _, c := range []struct {
		name string
		all  bool
		done []series.Reproduction
		err  error
		want int
	}{
		{"caught", false, []series.Reproduction{caught}, nil, exitOK},
		{"not shown", false, []series.Reproduction{missed}, nil, exitUnknown},
		{"one of two not shown", true, []series.Reproduction{caught, missed}, nil, exitUnknown},
		{"one that shows seldom not shown", false, []series.Reproduction{seldom}, nil, exitUnknown},
		{"one that shows seldom not shown among all", true, []series.Reproduction{caught, seldom}, nil, exitOK},
		{"no Curator", true, []series.Reproduction{caught}, curator.ErrMissing, exitEnvironment},
		{"broke off", true, nil, errors.New("the lab broke"), exitHarness},
		{"interrupted", true, []series.Reproduction{missed}, run.ErrInterrupted, exitInterrupted},
	} {
		got := exitOK
		if err := (&reproCmd{All: c.all}).ending(c.done, c.err); err != nil {
			got, _ = codeOf(err)
		}
		if got != c.want {
			t.Errorf("%s: exit %d, want %d", c.name, got, c.want)
		}
	}
}

// A person is told what caught the bug and where the picture is; a script gets the same.
func TestReproOutput(t *testing.T) {
	caught, missed := reproduction(t, "lost-wakeup", true), reproduction(t, "lost-create", false)
	var b bytes.Buffer
	for _, r := range []series.Reproduction{caught, missed} {
		if err := console.PrintTable(&b, console.Bug, r); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{
		"lost-wakeup: A waiter watches",
		"caught by liveness in 2 attempts: it got stuck\nzxids: 0x1, 0x2\n" +
			"timeline: runs/x/attempt-2/plots/timeline.svg\nreport: runs/x/attempt-2/report.html\n",
		"not shown in 2 attempts; in the last, liveness: pass: all moved on\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("it lacks %q:\n%s", want, b.String())
		}
	}
	b.Reset()
	for _, r := range []series.Reproduction{caught, missed} {
		if err := console.PrintTable(&b, console.BugInOneLine, r); err != nil {
			t.Fatal(err)
		}
	}
	if want := "lost-wakeup: caught by liveness (stall) in 2 attempts; runs/x/attempt-2/report.html\n" +
		"lost-create: not shown in 2 attempts; runs/x/attempt-2/report.html\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
	b.Reset()
	if err := printReproductionsJSON(&b, []series.Reproduction{caught, missed}); err != nil {
		t.Fatal(err)
	}
	var got []struct {
		Name, Check, Timeline string
		Caught                bool
		Attempts              int
		Finding               *struct{ Kind, Text string }
	}
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || !got[0].Caught || got[0].Name != "lost-wakeup" || got[0].Attempts != 2 ||
		got[0].Finding.Text != "it got stuck" || got[0].Timeline == "" || got[1].Caught || got[1].Finding != nil {
		t.Errorf("%+v\n%s", got, b.String())
	}
}
