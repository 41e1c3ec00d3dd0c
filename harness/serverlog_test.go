package harness

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"locklab/ensembles/txnlog"
	"locklab/harness/check"
	"locklab/harness/history"
	"locklab/harness/scenario"
)

// The servers' own word on real runs: a lock that holds what it promises passes, none at all is found out, and
// an overlap under a pause is explained by transactions.
func testServersWord(t *testing.T, stage *Stage) {
	var before int64 // the last zxid of the run before
	for _, sc := range []struct{ name, src string }{
		{"mutex", with("duration: 1s")},
		{"naive mutex", with("duration: 1s", "recipe: naive-mutex")},
		{"zk.Lock", with("duration: 1s", "recipe: zk-lock")},
		{"read-write", with("duration: 1s", "workload: read-write", "read-share: 0.5", "downgrade-share: 0.5")},
		{"fair read-write", with("duration: 1s", "workload: read-write", "recipe: fair-rw")},
		{"semaphore", with("duration: 1s", "workload: semaphore", "permits: 3", "units: 2", "hold: 5ms")},
		{"semaphore mutex", with("duration: 1s", "recipe: semaphore-mutex")},
		{"several locks", with("duration: 1s", "workload: multi-lock", "locks: 3")},
		{"shared sessions", with("duration: 1s", "clients-per-session: 4")},
	} {
		t.Run(sc.name, func(t *testing.T) {
			out := runOn(t, stage, sc.src)
			wantVerdict(t, out, check.Pass)
			v := out.Report.Check(check.ServiceExclusion)
			if v.Result != check.Pass || number(out.Result.Safety.DoubleGrants) != 0 || out.Result.Operations.AcquiredInRun < 20 {
				t.Errorf("%+v, %d double grants of %d", v, number(out.Result.Safety.DoubleGrants), out.Result.Operations.AcquiredInRun)
			}
			t.Log(v.Summary)
			before = wantLogs(t, out, before)
			wantMajority(t, out.Dir)
		})
	}
	t.Run("no lock", func(t *testing.T) {
		out := runOn(t, stage, with("recipe: none", "duration: 1s"))
		if v := out.Report.Check(check.ServiceExclusion); v.Result != check.Fail || v.Count != out.Result.Operations.AcquiredInRun || v.Count == 0 {
			t.Errorf("%+v, want each of %d grants", v, out.Result.Operations.AcquiredInRun)
		}
	})
	t.Run("a pause explains an overlap", func(t *testing.T) {
		out := runOn(t, stage, with("hold: 10ms", "duration: 3s", "liveness: 3s", "drain: cancel", "victim-alone: true", "faults:\n  - {kind: pause, target: c1, trigger: between-read-and-write, until: superseded}",
			"expect:\n  belief-exclusion: fail\n  effect: fail\n  fairness: any"))
		wantVerdict(t, out, check.Pass)
		v := out.Report.Check(check.BeliefExclusion)
		if v.Count == 0 || number(out.Result.Safety.OverlapsUnexplained) != 0 || number(out.Result.Safety.DoubleGrants) != 0 {
			t.Errorf("%d overlaps, %d unexplained, %d double grants", v.Count, number(out.Result.Safety.OverlapsUnexplained), number(out.Result.Safety.DoubleGrants))
		}
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

// wantLogs holds a run to its own transactions: those of the run before are not in it. It returns the last of them.
func wantLogs(t *testing.T, out Outcome, before int64) int64 {
	t.Helper()
	last := int64(0)
	for _, server := range []string{"zk1", "zk2", "zk3"} {
		dir := os.DirFS(filepath.Join(out.Dir, hostsDir, server, txnLogDir))
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
		// The barrier of the run before is only known to be in the majority's logs.
		if size < 40 || first <= before-20 {
			t.Errorf("%s: %d transactions from %#x on, the run before ended at %#x", server, size, first, before)
		}
	}
	return last
}

// wantMajority judges a run without the logs of some servers, which must never pass what it cannot know.
func wantMajority(t *testing.T, dir string) {
	t.Helper()
	cut := t.TempDir()
	if err := os.CopyFS(cut, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	logs, err := filepath.Glob(filepath.Join(cut, hostsDir, "zk*", txnLogDir))
	if err != nil || len(logs) != 3 {
		t.Fatalf("%v, %v", logs, err)
	}
	// The shortest first: a server that lagged when its log was copied is not of the majority that has it all. Of a transaction
	// that came between the copies of the other two it is rightly not known whether it was committed.
	slices.SortFunc(logs, func(a, b string) int { return cmp.Compare(bytesIn(t, a), bytesIn(t, b)) })
	for i, want := range []check.Result{check.Pass, check.Unknown, check.Unknown} {
		if err := os.RemoveAll(logs[i]); err != nil {
			t.Fatal(err)
		}
		out, err := Check(cut)
		if err != nil {
			t.Fatal(err)
		}
		v := out.Report.Check(check.ServiceExclusion)
		if i == 0 && v.Result == check.Unknown && bytesIn(t, logs[1]) != bytesIn(t, logs[2]) && strings.Contains(v.Summary, "whether they were committed") {
			continue
		}
		if v.Result != want || want == check.Unknown && out.Result.Safety.DoubleGrants != nil {
			t.Errorf("without the logs of %d servers: %s, %s", i+1, v.Result, v.Summary)
		}
	}
}

// bytesIn is how much is in a directory's files.
func bytesIn(t *testing.T, dir string) (n int64) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		n += info.Size()
	}
	return n
}

// A run whose logs were cut short has not all that its clients were told of.
func TestCutLogsAreNoProof(t *testing.T) {
	events := []history.Event{{Op: history.OpServerLog, Value: 5, Target: "zk1"}, {Op: history.OpServerLog, Kind: history.OK, Target: "zk1"}}
	sc := load(t, "servers: 1")
	if log := readServerLog(t.TempDir(), sc, nil); log != nil {
		t.Errorf("of a run that asked for none: %+v", log)
	}
	if log := readServerLog(t.TempDir(), sc, events); log == nil || log.Missing == "" {
		t.Errorf("of a run that has none: %+v", log)
	}
	failed := append(slices.Clone(events), history.Event{Op: history.OpServerLog, Kind: history.Fail, Target: "zk1", Detail: "no agent"})
	if log := readServerLog(t.TempDir(), sc, failed); log == nil || !strings.Contains(log.Missing, "no agent") {
		t.Errorf("of a run that could not copy it: %+v", log)
	}
	// Of a server whose logs were copied only in part, what is here counts for nothing.
	partial := t.TempDir()
	if err := os.MkdirAll(filepath.Join(partial, hostsDir, "zk1", txnLogDir), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(partial, hostsDir, "zk1", txnLogDir, "log.6"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if log := readServerLog(partial, sc, failed); log == nil || !strings.Contains(log.Missing, "no agent") {
		t.Errorf("of a run that copied a part of it: %+v", log)
	}
	entries := func(zxids ...int64) *txnlog.Ensemble {
		e := &txnlog.Ensemble{}
		for _, z := range zxids {
			e.Entries = append(e.Entries, txnlog.Entry{Record: txnlog.Record{Txn: txnlog.Txn{Zxid: z}}, Fate: txnlog.Committed})
		}
		return e
	}
	const next = int64(1) << 32
	for _, c := range []struct {
		all    *txnlog.Ensemble
		since  int64
		doubts int
	}{
		{entries(), 5, 1}, {entries(6, 7, 8), 5, 0}, {entries(4, 5, 6), 5, 0}, {entries(7, 8), 5, 1}, {entries(6, 8), 5, 1},
		{entries(6, next+1, next+2), 5, 0}, {entries(next+1, next+2), 5, 0}, {entries(6, 7), 0, 1}, {entries(1, 2), 0, 0}, {entries(next + 1), 0, 0},
		{entries(6, next+2), 5, 1}, {entries(next+3, next+4), 5, 1},
	} {
		if got := wholeness(c.all, c.since); len(got) != c.doubts {
			t.Errorf("%v since %d: %q", c.all.Entries, c.since, got)
		}
	}
	for _, c := range []struct {
		ms     [3]int64
		doubts int
	}{{[3]int64{1000, 1000, 2000}, 0}, {[3]int64{1000, 950, 2000}, 0}, {[3]int64{1000, 899, 2000}, 1}, {[3]int64{1000, 2000, 2101}, 1}, {[3]int64{3_600_000, 1000, 1000}, 2}} {
		all := entries(6, 7, 8)
		for i, ms := range c.ms {
			all.Entries[i].Time = ms
		}
		if got := clocks(all, 5, 2000); len(got) != c.doubts {
			t.Errorf("times %v: %q", c.ms, got)
		}
	}
	// A follower whose clock is an hour behind comes to lead; one that is cut off has prepared what was never committed.
	behind := entries(6, next+1, next+2)
	for i, ms := range []int64{3_600_000, 1000, 1000} {
		behind.Entries[i].Time = ms
	}
	if got := clocks(behind, 6, 3_600_000); len(got) != 0 {
		t.Errorf("what was before the run: %q", got)
	}
	if got := clocks(behind, 5, 3_600_000); len(got) != 1 {
		t.Errorf("a leader an hour behind the one before: %q", got)
	}
	behind.Entries[0].Fate = txnlog.Uncommitted
	if got := clocks(behind, 5, 3_600_000); len(got) != 0 {
		t.Errorf("what was never committed: %q", got)
	}
	undecided := entries(6, 7)
	undecided.Entries[1].Fate = txnlog.Undecided
	if got := wholeness(undecided, 5); len(got) != 1 {
		t.Errorf("undecided: %q", got)
	}
}

// A clock that is set off makes the servers' word doubtful if it can have been a leader's.
func TestSteppedLeaders(t *testing.T) {
	const next = int64(1) << 32
	one, two := &txnlog.Ensemble{}, &txnlog.Ensemble{}
	for _, z := range []int64{6, 7} {
		one.Entries = append(one.Entries, txnlog.Entry{Record: txnlog.Record{Txn: txnlog.Txn{Zxid: next + z}}})
	}
	two.Entries = append(slices.Clone(one.Entries), txnlog.Entry{Record: txnlog.Record{Txn: txnlog.Txn{Zxid: 2*next + 1}}})
	step := func(op string, kind history.Kind, value int64) history.Event {
		return history.Event{Op: op, Kind: kind, Value: value, Mode: scenario.FaultClockStep, Fault: "f1"}
	}
	asked, done := step(history.OpFaultInject, history.Invoke, 0), step(history.OpFaultInject, history.OK, 0)
	leads, follows := step(history.OpFaultAim, history.Info, 1), step(history.OpFaultAim, history.Info, 0)
	missed := step(history.OpFaultMissed, history.Fail, 0)
	for _, c := range []struct {
		name   string
		all    *txnlog.Ensemble
		events []history.Event
		doubts int
	}{
		{"a follower, and nobody else came to lead", one, []history.Event{asked, follows, done}, 0},
		{"the leader", one, []history.Event{asked, leads, done}, 1},
		{"a follower, that may have come to lead", two, []history.Event{asked, follows, done}, 1},
		{"nobody", two, []history.Event{asked, leads, missed}, 0},
		{"an election and no step", two, nil, 0},
	} {
		for _, since := range []int64{0, next + 5} {
			if got := stepped(c.all, since, c.events); len(got) != c.doubts {
				t.Errorf("%s, since %d: %q", c.name, since, got)
			}
		}
	}
}

// What a server answers to "dump", as Debian's 3.8.0 does.
func TestParseDump(t *testing.T) {
	const answer = "SessionTracker dump:\nSession Sets (1)/(1):\n1 expire at Sat Nov 21 08:38:07 UTC 2026:\n\t0x1000\n" +
		"ephemeral nodes dump:\nSessions with Ephemerals (2):\n0x10000a1b2c30001:\n\t/run1/lock0/_c_x-lock-0000000001\n\t/b\n0xf00000000000000a:\n\t/c\n" +
		"Connections dump:\nConnections Sets (1)/(1):\n1 expire at Sat Nov 21 08:38:20 UTC 2026:\n\tip: /127.0.0.1:43670 sessionId: 0x0\n"
	got := parseDump(strings.NewReader(answer))
	if len(got) != 2 || !slices.Equal(got[0x10000a1b2c30001], []string{"/run1/lock0/_c_x-lock-0000000001", "/b"}) || !slices.Equal(got[-0xffffffffffffff6], []string{"/c"}) {
		t.Errorf("%v", got)
	}
}
