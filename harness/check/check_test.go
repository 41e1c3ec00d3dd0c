package check

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"locklab/harness/check/evidence"
	"locklab/harness/history"
)

// TestFixtures reads testdata: a check's name and facts, a history, and what the check says about it. "report" runs
// all checks and prints the result of each; "resolved" prints what became of operations of unknown outcome. With the
// argument "events" the evidence is printed as well.
//
// Rewrite with -rewrite, and commit the changes only if you know why each is right.
func TestFixtures(t *testing.T) {
	// Only the top level, because rapid leaves failing examples below testdata.
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatal("no fixtures", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) { runFixture(t, path) })
	}
}

func runFixture(t *testing.T, path string) {
	datadriven.RunTest(t, path, func(t *testing.T, td *datadriven.TestData) string {
		r := judgeFixture(t, td)
		if td.Cmd == "report" {
			return describeReport(&r)
		}
		if td.Cmd == "resolved" {
			var b strings.Builder
			for _, r := range r.Resolved {
				fmt.Fprintf(&b, "%s %s %d: %s %s: %s\n", r.Client, r.Op, r.N, r.Fate, r.Zxid, r.Text)
			}
			return b.String()
		}
		v := r.Check(td.Cmd)
		if v == nil {
			td.Fatalf(t, "no check %s", td.Cmd)
		}
		return describeVerdict(v, td.HasArg("events"))
	})
}

// judgeFixture runs all checks on one fixture.
func judgeFixture(t *testing.T, td *datadriven.TestData) Report {
	facts := recipes["queue"]
	facts.SessionTimeout, facts.Tick, facts.Natures = 6*time.Second, time.Second, natures
	for _, arg := range td.CmdArgs {
		if err := setFact(&facts, arg.Key, arg.Vals); err != nil {
			td.Fatalf(t, "%v", err)
		}
	}
	events, err := parseHistory(td.Input)
	if err != nil {
		td.Fatalf(t, "%v", err)
	}
	if events, err = giveLog(&facts, td.Input, events); err != nil {
		td.Fatalf(t, "%v", err)
	}
	return Run(history.NewLog(events), facts)
}

func describeVerdict(v *evidence.Verdict, events bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d: %s\n", v.Result, v.Count, v.Summary)
	for _, f := range v.Findings {
		fmt.Fprintf(&b, "- %s: %s\n", f.Kind, f.Text)
		if events {
			for _, e := range f.Events {
				fmt.Fprintf(&b, "    %s\n", e)
			}
		}
	}
	if v.Violation {
		b.WriteString("violation\n")
	}
	return b.String()
}

func describeReport(r *Report) string {
	var b strings.Builder
	for i := range r.Checks {
		v := &r.Checks[i]
		fmt.Fprintf(&b, "%-17s expected %s, found %s: %s\n", v.Name, v.Expected, v.Result, v.Outcome())
	}
	safety, _ := json.Marshal(r.Safety)
	fmt.Fprintf(&b, "%s\n", safety)
	for _, f := range r.Faults {
		record, _ := json.Marshal(f)
		fmt.Fprintf(&b, "%s\n", record)
	}
	for _, c := range r.Caveats {
		fmt.Fprintf(&b, "leading warning: %s\n", c)
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	fmt.Fprintf(&b, "verdict: %s\n", r.Verdict)
	return b.String()
}

// TestOutcome is the table of what an expectation makes of a result.
func TestOutcome(t *testing.T) {
	want := map[evidence.Expectation]string{ //  pass fail unknown n/a, as found
		evidence.ExpectPass: "pass fail unknown pass",
		evidence.ExpectFail: "unknown pass unknown unknown",
		evidence.ExpectAny:  "pass pass pass pass",
	}
	for expected, row := range want {
		for i, found := range []evidence.Result{evidence.Pass, evidence.Fail, evidence.Unknown, evidence.NotApplicable} {
			v := evidence.Verdict{Expected: expected, Result: found}
			if got, want := v.Outcome(), evidence.Result(strings.Fields(row)[i]); got != want {
				t.Errorf("expected %s, found %s: outcome %s, want %s", expected, found, got, want)
			}
			v.Violation = true
			if got := v.Outcome(); got != evidence.Fail {
				t.Errorf("expected %s, found %s with a violation: outcome %s", expected, found, got)
			}
		}
	}
}

// A check that panics is unknown, says so, and leaves no numbers behind.
func TestBrokenCheck(t *testing.T) {
	r := Report{}
	v := judge(evidence.Check{Name: "odd", Judge: func(_ *evidence.Digest, s *evidence.Safety) evidence.Verdict {
		s.Overlaps = new(int64)
		panic("index out of range")
	}}, evidence.NewDigest(nil, evidence.Facts{}), evidence.Safety{})
	r.add(&v)
	if v.Result != evidence.Unknown || r.Safety.Overlaps != nil || len(r.Warnings) != 1 {
		t.Errorf("verdict %+v, report %+v", v, r)
	}
}

// Counters are copied into a report, so that they do not keep in memory what a check knows. A counter that a check did
// not measure does not replace one that another check measured.
func TestAdoptedCounters(t *testing.T) {
	var all evidence.Safety
	measured := struct {
		everything [1 << 10]int64
		overlaps   int64
	}{overlaps: 7}
	all.Adopt(&evidence.Safety{Overlaps: &measured.overlaps})
	all.Adopt(&evidence.Safety{StaleAccepted: new(int64(3))})
	measured.overlaps = 8
	if all.Overlaps == nil || *all.Overlaps != 7 || all.StaleAccepted == nil || *all.StaleAccepted != 3 ||
		all.Crowded != nil {
		t.Error(describeReport(&Report{Safety: all}))
	}
}

// Nothing passes in a run of which nothing is known.
func TestNothing(t *testing.T) {
	for _, events := range [][]history.Event{nil, {{At: 1, Op: history.OpEnd, Detail: string(history.EndComplete)}}} {
		r := Run(history.NewLog(events), evidence.Facts{Exclusive: true, Tokens: true, Queue: true})
		if r.Verdict != evidence.Unknown {
			t.Errorf("verdict %s of %v", r.Verdict, events)
		}
		for _, v := range r.Checks {
			if v.Result == evidence.Pass {
				t.Errorf("%s passes: %s", v.Name, v.Summary)
			}
		}
	}
}
