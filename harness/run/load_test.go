package run

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"locklab/ensembles/labtest/suite"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
	"locklab/harness/judge"
	"locklab/harness/rundir"
)

// Clients produce the load that the scenario describes.
func testLoads(t *testing.T, stage *Stage) {
	short := func(lines ...string) string {
		return with(append([]string{"duration: 1s"}, lines...)...)
	}

	t.Run("open loop", func(t *testing.T) {
		out := runOn(t, stage, short("arrivals: uniform", "rate: 50", "hold: exponential(1ms)"))
		wantVerdict(t, out, evidence.Pass)
		r := out.Result
		// Every arrival is recorded with what became of it. Two processes share them.
		if rate := r.Throughput.OfferedPerS; r.ClosedLoop || rate == nil || *rate < 49 || *rate > 51 {
			t.Errorf("closed loop %t, %v offered", r.ClosedLoop, rate)
		}
		if n, l := number(r.Throughput.Dropped), r.Latency; l.Service == nil || l.Arrival == nil ||
			l.Service.Count != l.Acquire.Count ||
			n < 0 ||
			l.Acquire.Count+n < 49 {
			t.Errorf("acquire %+v, service %+v, arrival %+v, %d dropped", l.Acquire, l.Service, l.Arrival, n)
		}
		wantReproducible(t, out)
	})
	t.Run("overload", func(t *testing.T) {
		out := runOn(
			t,
			stage,
			short("arrivals: poisson", "rate: 50..200", "hold: 50ms", "max-in-flight: 2", "duration: 2s"),
		)
		wantVerdict(t, out, evidence.Pass)
		// At most 20 a second are possible.
		if tp := out.Result.Throughput; number(tp.Dropped) < 100 || number(tp.BacklogMax) > 2 {
			t.Errorf("%d dropped, and a backlog of %d", number(tp.Dropped), number(tp.BacklogMax))
		}
	})
	t.Run("far away", func(t *testing.T) {
		const added = 20 * time.Millisecond
		out := runOn(t, stage, short("round-trip: 20ms", "clients: 4"))
		wantVerdict(t, out, evidence.Pass)
		wantRelayed(t, out, added)
		// A request and its answer are the least that an acquisition takes.
		asked, granted := map[string]int64{}, 0
		for _, e := range readHistory(t, out.Dir) {
			switch {
			case e.Op == history.OpAcquire && e.Kind == history.Invoke:
				asked[e.Client] = e.At
			case e.Op == history.OpAcquire && e.Kind == history.OK:
				if granted++; e.At-asked[e.Client] < int64(added) {
					t.Errorf("%s was granted the lock after %v", e.Client, time.Duration(e.At-asked[e.Client]))
				}
			}
		}
		if granted == 0 {
			t.Error("nobody was granted the lock")
		}
	})
	t.Run("through relays that do not delay", func(t *testing.T) {
		out := runOn(t, stage, short("round-trip: 0s", "clients: 4"))
		wantVerdict(t, out, evidence.Pass)
		wantRelayed(t, out, 0)
	})
	t.Run("shared sessions", func(t *testing.T) {
		out := runOn(t, stage, short("clients: 8", "clients-per-session: 4"))
		wantVerdict(t, out, evidence.Pass)
		of := map[history.SessionID]map[string]bool{}
		for _, e := range readHistory(t, out.Dir) {
			if e.Op == history.OpAcquire && e.Kind == history.OK {
				if of[e.Session] == nil {
					of[e.Session] = map[string]bool{}
				}
				of[e.Session][e.Client] = true
			}
		}
		if len(of) != 2 {
			t.Errorf("%d sessions: %v", len(of), of)
		}
		for s, clients := range of {
			if len(clients) != 4 {
				t.Errorf("session %v is of %v", s, clients)
			}
		}
	})
	t.Run("tries", func(t *testing.T) {
		out := runOn(t, stage, short("try: true", "clients: 4", "think: exponential(20ms)", "duration:",
			"iterations: 20", "warmup: 0s", "min-acquired: 5")) // by a count, however slow the machine is
		wantVerdict(t, out, evidence.Pass)
		if n := out.Result.Operations; n.Busy == 0 || n.Acquired == 0 || n.TimedOut != 0 {
			t.Errorf("%d busy, %d acquired, %d timed out", n.Busy, n.Acquired, n.TimedOut)
		}
	})
	t.Run("lock only", func(t *testing.T) {
		suite.Nightly(t, "each sweep and bench holds the lock only")
		out := runOn(t, stage, short("section: none", "clients-per-session: 2", "recipe: naive-mutex"))
		wantVerdict(t, out, evidence.Pass)
		if v := out.Report.Check(evidence.Effect); v.Result != evidence.NotApplicable {
			t.Errorf("effect: %s: %s", v.Result, v.Summary)
		}
	})
	t.Run("resized", func(t *testing.T) {
		out := runOn(
			t,
			stage,
			short("workload: semaphore", "permits: 1", "resize: 3 every 500ms", "hold: 20ms", "clients: 6", "duration: 2s"),
		)
		wantVerdict(t, out, evidence.Pass)
		var sizes []int64
		most := map[int64]int{} // holders at once, by the number of permits
		now, permits := 0, int64(1)
		for _, e := range readHistory(t, out.Dir) {
			switch {
			case e.Op == history.OpResize && e.Kind == history.Info:
				sizes = append(sizes, e.Value)
				permits = e.Value
			case e.Op == history.OpAcquire && e.Kind == history.OK:
				now++
				most[permits] = max(most[permits], now)
			case e.Op == history.OpRelease && e.Kind == history.Invoke:
				now--
			}
		}
		if len(sizes) < 3 || sizes[0] != 3 || sizes[1] != 1 || sizes[2] != 3 || most[3] != 3 {
			t.Errorf("sizes %v; holders at once, by permits: %v", sizes, most)
		}
	})
}

// wantRelayed checks that all clients of a run connected to all servers through relays, which added that much.
func wantRelayed(t *testing.T, out judge.Outcome, added time.Duration) {
	t.Helper()
	if ns := out.Result.RoundTripNs; ns == nil || *ns != int64(added) {
		t.Errorf("the result has a round trip of %d ns, want %v", number(ns), added)
	}
	env, err := rundir.ReadEnv(out.Dir)
	if err != nil {
		t.Fatal(err)
	}
	all := []string{"zk1", "zk2", "zk3"}
	if diff := cmp.Diff(map[string][]string{"c1": all, "c2": all}, env.Relayed); diff != "" {
		t.Errorf("relayed (-want +got)\n%s", diff)
	}
}
