package run

import (
	"slices"
	"strings"
	"testing"

	"locklab/ensembles/labtest/suite"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
	"locklab/harness/rundir"
)

// Every workload runs with locklab's recipes, and without a lock, where its own kind of damage must be found.
func testWorkloads(t *testing.T, stage *Stage) {
	short := func(lines ...string) string {
		return with(append([]string{"duration: 1s"}, lines...)...)
	}
	// In runs with pauses, the victim has a process of its own. Acquiring takes a few milliseconds, one client after
	// another: only holds that are much longer keep both permits taken, so that the victim is the one too many.
	pause := func(lines ...string) string {
		return with(append([]string{brief, "clients: 5", "victim-alone: true", "duration: 6s", "hold: 50ms",
			"workload: semaphore", "permits: 2",
			"faults:\n  - {kind: pause, target: c1, trigger: between-reads, until: superseded, linger: 200ms}"}, lines...)...)
	}

	t.Run("read-write", func(t *testing.T) {
		out := runOn(t, stage, short("workload: read-write", "read-share: 0.7", "downgrade-share: 0.5", "hold: 1ms"))
		wantVerdict(t, out, evidence.Pass)
		r := out.Result
		if n := r.Operations; n.Reads == 0 || n.Writes == 0 || n.Reads+n.Writes != n.Acquired || n.Permits != 0 {
			t.Errorf("%d acquired: %d to read, %d to write, %d permits", n.Acquired, n.Reads, n.Writes, n.Permits)
		}
		if l := r.Latency; l.AcquireRead == nil || l.AcquireWrite == nil ||
			l.AcquireRead.Count+l.AcquireWrite.Count != l.Acquire.Count {
			t.Errorf("latencies to read %+v, to write %+v, of all %+v", l.AcquireRead, l.AcquireWrite, l.Acquire)
		}
		if torn := r.Safety.TornReads; torn == nil || *torn != 0 {
			t.Errorf("torn reads: %v, want 0 of those looked at", torn)
		}
		together, kept := readers(readHistory(t, out.Dir))
		if !together || !kept {
			t.Errorf("readers together: %t, a writer that went on as a reader with its token: %t", together, kept)
		}
		wantReproducible(t, out)
	})
	for _, recipe := range []string{"fair-rw", "naive-rw"} {
		t.Run(recipe, func(t *testing.T) {
			suite.Nightly(t, "read-write runs another recipe of that kind")
			wantVerdict(
				t,
				runOn(t, stage, short("workload: read-write", "read-share: 0.7", "hold: 1ms", "recipe: "+recipe)),
				evidence.Pass,
			)
		})
	}
	t.Run("no read-write lock is found out", func(t *testing.T) {
		out := runOn(t, stage, short("workload: read-write", "read-share: 0.5", "hold: 1ms", "recipe: none"))
		wantVerdict(t, out, evidence.Fail)
		if s := out.Result.Safety; number(s.TornReads) < 1 || number(s.LostUpdates) < 1 || number(s.Overlaps) < 1 {
			t.Errorf(
				"%d torn reads, %d lost updates, %d overlaps",
				number(s.TornReads),
				number(s.LostUpdates),
				number(s.Overlaps),
			)
		}
	})
	// What a client holds when it dies is free once the servers have expired its session, and not before.
	t.Run("holders that die", func(t *testing.T) {
		out := runOn(t, stage, with(brief, "clients: 4", "duration: 5s", "hold: 1ms", "die-share: 0.02"))
		wantVerdict(t, out, evidence.Pass)
		deaths, cut, sessions := 0, 0, map[history.SessionID]bool{}
		for _, e := range readHistory(t, out.Dir) {
			switch {
			case e.Op == history.OpRelease && e.Kind == history.Info:
				deaths++
			case e.Op == history.OpDisconnected:
				cut++
			case e.Op == history.OpConnected && strings.HasPrefix(e.Client, "c"):
				sessions[e.Session] = true
			}
		}
		if deaths == 0 || cut < deaths || len(sessions) <= 4 || len(sessions) > 4+deaths {
			t.Errorf("%d deaths, %d connections lost, and %d sessions of 4 clients", deaths, cut, len(sessions))
		}
	})
	t.Run("semaphore", func(t *testing.T) {
		out := runOn(t, stage, short("workload: semaphore", "permits: 5", "units: 2", "hold: 5ms"))
		wantVerdict(t, out, evidence.Pass)
		if n := out.Result.Operations; n.Acquired == 0 || n.Permits != 2*n.Acquired {
			t.Errorf("%d acquired of two permits each, %d permits", n.Acquired, n.Permits)
		}
		if s := out.Result.Safety; s.Crowded == nil || *s.Crowded != 0 || s.TornReads != nil || s.LostUpdates != nil {
			t.Errorf("crowded %v, torn reads %v, lost updates %v", s.Crowded, s.TornReads, s.LostUpdates)
		}
	})
	t.Run("no semaphore is found out", func(t *testing.T) {
		out := runOn(t, stage, short("workload: semaphore", "hold: 5ms", "recipe: none"))
		wantVerdict(t, out, evidence.Fail)
		if s := out.Result.Safety; number(s.Crowded) < 1 || number(s.Overlaps) < 1 {
			t.Errorf("crowded %d times, %d overlaps", number(s.Crowded), number(s.Overlaps))
		}
	})
	t.Run("semaphore-mutex", func(t *testing.T) {
		suite.Nightly(t, "semaphore runs another recipe of that kind")
		wantVerdict(t, runOn(t, stage, short("recipe: semaphore-mutex")), evidence.Pass)
	})
	// Both recipes share one queue, in which go-zookeeper's lock has znodes with names of its own.
	t.Run("zk-lock beside a mutex", func(t *testing.T) {
		out := runOn(t, stage, short("recipe: mutex,zk-lock"))
		wantVerdict(t, out, evidence.Pass)
		grants := map[string]int{}
		for _, e := range readHistory(t, out.Dir) {
			if e.Op == history.OpAcquire && e.Kind == history.OK {
				grants[e.Process]++
				if (e.Token != 0) != (e.Process == "c1") {
					t.Fatalf("%v: tokens are the mutex's, which c1 runs", e)
				}
			}
		}
		if grants["c1"] == 0 || grants["c2"] == 0 {
			t.Errorf("granted by process: %v", grants)
		}
	})
	// A check by the client helps if the client is stopped before it, and not if it is stopped after it. The client stays
	// stopped for longer than the others need to write, and than the clocks of two machines may differ. What is left of
	// the run has to be long enough for the check of progress.
	mutexPause := func(lines ...string) string {
		return with(
			append([]string{brief, "clients: 5", "victim-alone: true", "duration: 6s", "hold: 5ms"}, lines...)...)
	}
	for _, guard := range []string{"lost-context", "lease-clock"} {
		t.Run("stopped behind the question of "+guard, func(t *testing.T) {
			if guard == "lease-clock" {
				suite.Nightly(t, "no guard that asks before the access differs from lost-context in what is behind it")
			}
			wantVerdict(
				t,
				runOn(
					t,
					stage,
					mutexPause(
						"guard: "+guard,
						"expect: {belief-exclusion: fail, effect: fail, fairness: any}",
						"shown: {overlaps: 1, stale_accepted: 1, lost_updates: 1}",
						"faults:\n  - {kind: pause, target: c1, trigger: before-write, until: superseded, linger: 200ms}",
					),
				),
				evidence.Pass,
			)
		})
	}
	t.Run("stopped before the question of lease-clock", func(t *testing.T) {
		suite.Nightly(t, "stopped behind the question of lost-context is its counterpart")
		out := runOn(
			t,
			stage,
			mutexPause("guard: lease-clock", "expect: {belief-exclusion: fail, fairness: any}", "shown: {overlaps: 1}",
				"faults:\n  - {kind: pause, target: c1, trigger: between-read-and-write, until: superseded, linger: 200ms}"),
		)
		wantVerdict(t, out, evidence.Pass)
		givenUp := slices.ContainsFunc(readHistory(t, out.Dir), func(e history.Event) bool {
			return e.Op == history.OpWrite && e.Kind == history.Fail && e.Process == "c1"
		})
		if !givenUp {
			t.Error("the victim gave up no write")
		}
	})
	t.Run("no later than zk-multi", func(t *testing.T) {
		out := runOn(
			t,
			stage,
			mutexPause("guard: zk-multi", "expect: {belief-exclusion: fail, fairness: any}", "shown: {overlaps: 1}",
				"faults:\n  - {kind: pause, target: c1, trigger: before-write, until: superseded, linger: 200ms}"),
		)
		wantVerdict(t, out, evidence.Pass)
		if s := out.Result.Safety; s.StaleAccepted == nil || *s.StaleAccepted != 0 || s.LostUpdates == nil ||
			*s.LostUpdates != 0 ||
			s.FalseRejections != nil {
			t.Errorf("safety %+v", s)
		}
		// Either the victim's write was refused, or the server closed the connection before the answer, so that the victim
		// does not know. In both cases the final value does not contain the write.
		acknowledged, unknown, final, stale := int64(0), int64(0), int64(-1), 0
		for _, e := range readHistory(t, out.Dir) {
			if e.Op == history.OpWrite && e.Process == "c1" && (e.Kind == history.Fail || e.Kind == history.Info) {
				stale++
			}
			switch {
			case e.Op == history.OpWrite && e.Kind == history.Info && e.Process != "c1":
				unknown++ // on a busy machine, its client may have lost its connection
			case e.Op == history.OpWrite && e.Kind == history.OK:
				acknowledged++
			case e.Op == history.OpFinal:
				final = e.Value
			case e.Process == rundir.ResourceHost &&
				slices.Contains([]history.Op{history.OpRead, history.OpWrite, history.OpEnter}, e.Op):
				t.Fatalf("the resource served %v", e)
			}
		}
		if stale == 0 {
			t.Error("every write of the victim was acknowledged")
		}
		if final < acknowledged || final > acknowledged+unknown || final == 0 {
			t.Errorf("ZooKeeper has %d in the end, %d were acknowledged, %d are unknown", final, acknowledged, unknown)
		}
	})
	t.Run("readers and writers of data in ZooKeeper", func(t *testing.T) {
		suite.Nightly(t, "no later than zk-multi writes data in ZooKeeper")
		out := runOn(t, stage, short("workload: read-write", "read-share: 0.5", "downgrade-share: 0.2", "guard: zk-multi"))
		wantVerdict(t, out, evidence.Pass)
		if torn := out.Result.Safety.TornReads; torn == nil || *torn != 0 {
			t.Errorf("torn reads %v", torn)
		}
	})
	t.Run("elements are appended", func(t *testing.T) {
		out := runOn(t, stage, short("section: append", "locks: 2", "guard: fencing"))
		wantVerdict(t, out, evidence.Pass)
		if v := out.Report.Check(evidence.Effect); strings.Contains(v.Summary, "of 0 acknowledged elements") ||
			!strings.Contains(v.Summary, "acknowledged elements") {
			t.Errorf("effect: %s", v.Summary)
		}
	})
	t.Run("and lost by a holder that is paused", func(t *testing.T) {
		suite.Nightly(t, "elements are appended has lists, and a pause explains an overlap has a paused holder")
		out := runOn(
			t,
			stage,
			mutexPause(
				"section: append",
				"expect: {belief-exclusion: fail, effect: fail, fairness: any}",
				"shown: {overlaps: 1, stale_accepted: 1, lost_updates: 1}",
				"faults:\n  - {kind: pause, target: c1, trigger: between-read-and-write, until: superseded, linger: 200ms}",
			),
		)
		wantVerdict(t, out, evidence.Pass)
		if !slices.ContainsFunc(
			out.Report.Check(evidence.Effect).Findings,
			func(f evidence.Finding) bool { return f.Kind == "lost-element" },
		) {
			t.Error("no element is named that is lost")
		}
	})
	t.Run("a holder of a permit is paused", func(t *testing.T) {
		suite.Nightly(t, "and fenced by its slot pauses a holder of a permit, too")
		out := runOn(
			t,
			stage,
			pause("shown: {overlaps: 1, stale_accepted: 1, crowded: 1}", "expect: {belief-exclusion: fail, effect: fail}"),
		)
		wantVerdict(t, out, evidence.Pass)
	})
	t.Run("and fenced by its slot", func(t *testing.T) {
		out := runOn(
			t,
			stage,
			pause("shown: {overlaps: 1, stale_rejected: 1}", "expect: {belief-exclusion: fail}", "guard: fencing"),
		)
		wantVerdict(t, out, evidence.Pass)
		if n := out.Result.Safety.Crowded; n == nil || *n != 0 {
			t.Errorf("crowded: %v behind the fence", n)
		}
	})
	t.Run("multi-lock", func(t *testing.T) {
		out := runOn(t, stage, short("workload: multi-lock", "locks: 4", "locks-per-acquire: 3"))
		wantVerdict(t, out, evidence.Pass)
		if n := out.Result.Operations.AcquiredInRun; n == 0 || n%3 != 0 {
			t.Errorf("%d locks acquired, want three each time", n)
		}
	})
	t.Run("multi-lock beside a mutex, fenced", func(t *testing.T) {
		out := runOn(t, stage, short("workload: multi-lock", "locks: 3", "recipe: multi,mutex", "guard: fencing"))
		wantVerdict(t, out, evidence.Pass)
		locks := map[string]map[int64]int{} // by process, how many under each number
		for _, e := range readHistory(t, out.Dir) {
			if e.Op == history.OpAcquire && e.Kind == history.OK && e.Client == e.Process+"/0" {
				if locks[e.Process] == nil {
					locks[e.Process] = map[int64]int{}
				}
				locks[e.Process][e.Acq]++
			}
		}
		for process, want := range map[string]int{"c1": 2, "c2": 1} {
			for n, got := range locks[process] {
				if got != want {
					t.Errorf("acquisition %d of %s took %d locks, want %d", n, process, got, want)
				}
			}
			if len(locks[process]) == 0 {
				t.Errorf("%s acquired nothing", process)
			}
		}
	})
	t.Run("multi-lock in any order", func(t *testing.T) {
		suite.Nightly(t, "multi-lock takes several locks, in order")
		out := runOn(
			t,
			stage,
			short("clients: 2", "workload: multi-lock", "locks: 2", "ordered: false", "wait: 100ms", "duration: 2s"),
		)
		wantVerdict(t, out, evidence.Pass)
		if n := out.Result.Operations; n.TimedOut == 0 || n.Acquired == 0 {
			t.Errorf("%d timed out and %d acquired of locks taken in different orders", n.TimedOut, n.Acquired)
		}
	})
}

// readers reports whether readers held the lock together, and whether a writer became a reader and kept its token.
func readers(events []history.Event) (together, kept bool) {
	reading := map[string]bool{}
	writer := map[string]int64{}
	for _, e := range events {
		switch {
		case e.Op == history.OpAcquire && e.Kind == history.OK && e.Mode == history.ModeWrite:
			writer[e.Client] = e.Token
		case e.Op == history.OpAcquire && e.Kind == history.OK && e.Mode == history.ModeRead:
			reading[e.Client] = true
			together = together || len(reading) > 1
			kept = kept || writer[e.Client] == e.Token
		case e.Op == history.OpRelease && e.Kind == history.Invoke && e.Mode == history.ModeRead:
			delete(reading, e.Client)
		case e.Op == history.OpRelease && e.Kind == history.Invoke && e.Mode == history.ModeWrite:
			delete(writer, e.Client)
		}
	}
	return together, kept
}
