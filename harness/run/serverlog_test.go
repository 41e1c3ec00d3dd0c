package run

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"locklab/ensembles/labtest/suite"
	"locklab/ensembles/txnlog"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
	"locklab/harness/judge"
	"locklab/harness/rundir"
	"locklab/harness/secondopinion"
)

// On real runs, the servers' evidence passes a lock that keeps its promise, is not asked about a run without a lock,
// and explains an overlap under a pause by transactions.
func testServersWord(t *testing.T, stage *Stage) {
	var before int64 // the last zxid of the run before
	for _, sc := range []struct {
		name, src string
		often     bool
	}{
		{"mutex", with("duration: 1s"), true},
		{"naive mutex", with("duration: 1s", "recipe: naive-mutex"), false},
		{"zk.Lock", with("duration: 1s", "recipe: zk-lock"), true},
		{"read-write", with("duration: 1s", "workload: read-write", "read-share: 0.5", "downgrade-share: 0.5"), true},
		{"fair read-write", with("duration: 1s", "workload: read-write", "recipe: fair-rw"), false},
		{"semaphore", with("duration: 1s", "workload: semaphore", "permits: 3", "units: 2", "hold: 5ms"), true},
		{"semaphore mutex", with("duration: 1s", "recipe: semaphore-mutex"), false},
		{"several locks", with("duration: 1s", "workload: multi-lock", "locks: 3"), true},
		{"shared sessions", with("duration: 1s", "clients-per-session: 4"), false},
	} {
		t.Run(sc.name, func(t *testing.T) {
			if !sc.often {
				suite.Nightly(t, "other recipes of its kind are judged by the logs every time")
			}
			out := runOn(t, stage, sc.src)
			wantVerdict(t, out, evidence.Pass)
			v := out.Report.Check(evidence.ServiceExclusion)
			if v.Result != evidence.Pass || number(out.Result.Safety.UnbackedGrants) != 0 ||
				out.Result.Operations.AcquiredInRun < 20 {
				t.Errorf(
					"%+v, %d unbacked grants of %d",
					v,
					number(out.Result.Safety.UnbackedGrants),
					out.Result.Operations.AcquiredInRun,
				)
			}
			t.Log(v.Summary)
			before = wantLogs(t, out, before)
			wantMajority(t, out.Dir)
			wantAgreement(t, out.Dir)
		})
	}
	t.Run("no lock", func(t *testing.T) {
		out := runOn(t, stage, with("recipe: none", "duration: 1s"))
		v := out.Report.Check(evidence.ServiceExclusion)
		if v.Result != evidence.NotApplicable || out.Result.Safety.UnbackedGrants != nil ||
			out.Result.Operations.AcquiredInRun == 0 {
			t.Errorf("%+v of %d grants, want n/a, because nothing was promised", v, out.Result.Operations.AcquiredInRun)
		}
	})
	t.Run("a pause explains an overlap", func(t *testing.T) {
		out := runOn(
			t,
			stage,
			with(
				brief,
				"hold: 10ms",
				"duration: 6s",
				"drain: cancel",
				"victim-alone: true",
				"faults:\n  - {kind: pause, target: c1, trigger: between-read-and-write, until: superseded, linger: 200ms}",
				"expect:\n  belief-exclusion: fail\n  effect: fail\n  fairness: any",
			),
		)
		wantVerdict(t, out, evidence.Pass)
		v := out.Report.Check(evidence.BeliefExclusion)
		if v.Count == 0 || number(out.Result.Safety.OverlapsUnexplained) != 0 ||
			number(out.Result.Safety.UnbackedGrants) != 0 {
			t.Errorf(
				"%d overlaps, %d unexplained, %d unbacked grants",
				v.Count,
				number(out.Result.Safety.OverlapsUnexplained),
				number(out.Result.Safety.UnbackedGrants),
			)
		}
		wantAgreement(t, out.Dir)
		events := readHistory(t, out.Dir)
		for _, f := range v.Findings {
			if f.Cause != "pause" || f.Fault != "f1" || len(f.Zxids) < 2 || len(f.Numbers) != len(f.Events) {
				t.Errorf("%+v", f)
				continue
			}
			for i, n := range f.Numbers {
				if events[n-1] != f.Events[i] {
					t.Errorf("event %d is %v, not %v", n, events[n-1], f.Events[i])
				}
			}
		}
	})
}

// wantLogs checks that a run has its own transactions and not those of the run before. It returns the last of them.
func wantLogs(t *testing.T, out judge.Outcome, before int64) int64 {
	t.Helper()
	last := int64(0)
	for _, server := range []string{"zk1", "zk2", "zk3"} {
		dir := os.DirFS(rundir.TxnLogDir(out.Dir, server))
		first, size := int64(0), 0
		for rec, err := range txnlog.ReadDir(dir, server) {
			if err != nil {
				t.Fatal(err)
			}
			if first == 0 {
				first = rec.Zxid
			}
			last = max(last, rec.Zxid)
			size++
		}
		// The last writes of the run before are known to be only in the logs of a majority.
		if size < 40 || first <= before-20 {
			t.Errorf("%s: %d transactions from %#x on, the run before ended at %#x", server, size, first, before)
		}
	}
	return last
}

// wantMajority judges a run in which the logs of some servers could not be copied. It must not pass without a majority.
// Logs that were copied and are missing make the record incomplete.
func wantMajority(t *testing.T, dir string) {
	t.Helper()
	cut := t.TempDir()
	if err := os.CopyFS(cut, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	logs, err := filepath.Glob(rundir.TxnLogDir(cut, "zk*"))
	if err != nil || len(logs) != 3 {
		t.Fatalf("%v, %v", logs, err)
	}
	// The shortest log goes first, because a server that lagged when its log was copied does not belong to the majority
	// that has everything. It is rightly unknown whether a transaction between the copies of the other two was
	// committed.
	slices.SortFunc(logs, func(a, b string) int { return cmp.Compare(lastZxid(t, a), lastZxid(t, b)) })
	for i, want := range []evidence.Result{evidence.Pass, evidence.Unknown, evidence.Unknown} {
		if err := os.RemoveAll(logs[i]); err != nil {
			t.Fatal(err)
		}
		out, err := judge.Check(cut)
		if err != nil {
			t.Fatal(err)
		}
		server := filepath.Base(filepath.Dir(logs[i]))
		if why := out.Report.Check(evidence.Assumptions).Summary; out.Result.Verdict != evidence.Unknown ||
			!strings.Contains(why, "hosts/"+server+"/txnlog") {
			t.Errorf("the logs of %s are missing: %s, %s", server, out.Result.Verdict, why)
		}
		failCopy(t, cut, server)
		if out, err = judge.Check(cut); err != nil {
			t.Fatal(err)
		}
		v := out.Report.Check(evidence.ServiceExclusion)
		if i == 0 && v.Result == evidence.Unknown && lastZxid(t, logs[1]) != lastZxid(t, logs[2]) {
			continue // What only the longer log has may not have been committed.
		}
		if v.Result != want || want == evidence.Unknown && out.Result.Safety.UnbackedGrants != nil {
			t.Errorf("without the logs of %d servers: %s, %s", i+1, v.Result, v.Summary)
		}
	}
}

// wantAgreement checks that Porcupine says the same as the checks, and that it says something.
func wantAgreement(t *testing.T, dir string) {
	t.Helper()
	_, opinions, err := judge.SecondOpinion(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	said := 0
	for _, o := range opinions {
		t.Log(o)
		if o.Disagree() {
			t.Error("the judges disagree")
		}
		if o.Second != secondopinion.None {
			said++
		}
	}
	if r := readResult(t, dir); r.Clocks != nil { // Porcupine takes all times for those of one clock
		if len(opinions) > 0 {
			t.Errorf("it was asked %d questions about events on several clocks", len(opinions))
		}
		return
	}
	if said == 0 {
		t.Errorf("Porcupine has no opinion on any of %d questions", len(opinions))
	}
}

// failCopy makes the harness's record say that the logs of a server could not be copied.
func failCopy(t *testing.T, dir, server string) {
	t.Helper()
	record := rundir.HostDir(dir, rundir.HarnessHost)
	names, err := filepath.Glob(filepath.Join(record, "*"+history.SegmentSuffix))
	if err != nil || len(names) == 0 {
		t.Fatal(err, names)
	}
	var events []history.Event
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err == nil {
			events, _, err = history.Decode(events, b, map[string]string{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.RemoveAll(record); err != nil {
		t.Fatal(err)
	}
	rec, err := rundir.NewRecorder(dir, history.Clock{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		switch {
		case e.Op == history.OpEndMark:
			continue
		case e.Op == history.OpContent && strings.HasPrefix(e.Content().File, "hosts/"+server+"/txnlog/"):
			continue
		case e.Op == history.OpServerLog && e.Kind == history.OK && e.ServerLog().Server == server:
			failed := history.ServerLog{Server: server, Detail: "a test removed it"}.Event(history.Fail)
			failed.At, failed.Process = e.At, e.Process
			e = failed
		}
		if err := rec.Record(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := rec.End(); err != nil {
		t.Fatal(err)
	}
}

// lastZxid returns the last transaction in a server's copied logs.
func lastZxid(t *testing.T, dir string) (last int64) {
	t.Helper()
	for rec, err := range txnlog.ReadDir(os.DirFS(dir), filepath.Base(dir)) {
		if err != nil {
			t.Fatal(err)
		}
		last = max(last, rec.Zxid)
	}
	return last
}
