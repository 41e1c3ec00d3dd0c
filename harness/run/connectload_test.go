package run

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"locklab/harness/check/evidence"
	"locklab/harness/judge"
	"locklab/reports/sweep"
)

// spared slows the ensemble down in the middle of a run, which ends itself. Its record is whole and says why it ended.
func (e *elsewhere) spared(t *testing.T) {
	out := filepath.Join(t.ArtifactDir(), "spared")
	var code int
	var shown, said string
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		code, shown, said = e.run(append([]string{"run", filepath.Join(e.dir, "unbounded.yaml"), "--duration", "10m", "--yes",
			"--max-latency", "250ms", "--session-timeout", "4s" /* so that nothing is a stall */, "--out", out},
			e.way("auth")...)...)
	}()
	e.contended(t)
	defer e.delay.Store(0)
	e.delay.Store(int64(300 * time.Millisecond))
	<-ended
	last := lastLine(said)
	if code != 6 || !strings.Contains(last, "zk1 ("+e.address+") took ") && !strings.Contains(last, "committed no write") {
		t.Errorf("ended with %d:\n%s", code, said)
	}
	for _, want := range []string{"max-latency is 250ms, 3 times in a row", "give --max-latency 60s"} {
		if !strings.Contains(last, want) {
			t.Errorf("%q is not in the last line: %s", want, last)
		}
	}
	if !strings.Contains(shown, "acquired") || !strings.Contains(shown, "acquire ") {
		t.Errorf("what was measured until then is not shown:\n%s", shown)
	}
	again, err := judge.Judge(out)
	if err != nil {
		t.Fatal(err)
	}
	met := again.Report.Check(evidence.Assumptions).Summary
	if again.Result.Verdict != evidence.Unknown || !strings.Contains(met, "max-latency is 250ms") ||
		strings.Contains(met, "incomplete") {
		t.Errorf("%s: %s", again.Result.Verdict, met)
	}
}

// planned varies the load on the ensemble, and tells from that what a load between comes to.
func (e *elsewhere) planned(t *testing.T) {
	out := filepath.Join(t.ArtifactDir(), "sweep")
	args := append([]string{"sweep", filepath.Join(e.dir, "unbounded.yaml"), "--param", "clients=2,4,8", "--hold", "10ms",
		"--duration", "3s", "--section", "none", "--guard", "none", "--json", "--out", out}, e.way("auth")...)
	code, stdout, said := e.run(args...)
	var s sweep.Sweep
	if err := json.Unmarshal([]byte(stdout), &s); err != nil || code != 0 || s.Done != 3 {
		t.Fatalf("ended with %d after %d runs, %v:\n%s", code, s.Done, err, said)
	}
	code, stdout, said = e.run("plan", out, "--clients", "6")
	if code != 0 || !strings.Contains(stdout, "6 clients") {
		t.Errorf("the plan ended with %d:\n%s%s", code, stdout, said)
	}
	// The server's processor time is known, because it runs on this machine. What cannot be measured is not guessed.
	for _, series := range s.Series {
		if series.RanOut == nil {
			t.Fatal("nothing is said of what ran out first")
		}
		for _, u := range series.RanOut.Uses {
			if (u.Least == nil) != (u.Resource == sweep.Fsync) {
				t.Errorf("%s: used %v", u.Resource, u.Least)
			}
		}
	}
	e.failsOver(t)
	// The rates of a search have no bound, so it needs a confirmation.
	args = append([]string{"sweep", filepath.Join(e.dir, "unbounded.yaml"), "--saturate", "acquire.p99 < 1ms", "--hold",
		"10ms", "--duration", "2s", "--out", out + "-search"}, e.way("auth")...)
	if code, _, said := e.run(args...); code != 2 || !strings.Contains(lastLine(said), "--yes") {
		t.Errorf("a search ended with %d:\n%s", code, said)
	}
}

// killedElsewhere is failover-holder, but short.
const killedElsewhere = `
name: failover
workload: mutex
clients: 4
client-processes: 4
locks: 2
lock-choice: dealt
guard: fencing
hold: 50ms
term: 1h
warmup: 500ms
duration: 5s
liveness: 500ms
min-acquired: 2
faults:
  - {kind: kill, target: holder, at: 500ms, for: 1s, every: 2130ms, repeat: 2}
expect:
  belief-exclusion: any
  effect: pass
  fairness: any
`

// failsOver kills holders of locks, and finds how long nobody got these.
func (e *elsewhere) failsOver(t *testing.T) {
	args := append([]string{"sweep", e.write("failover.yaml", []byte(killedElsewhere)), "--param", "session-timeout=1s",
		"--json", "--out", filepath.Join(t.ArtifactDir(), "failover")}, e.way("auth")...)
	code, stdout, said := e.run(args...)
	var s sweep.Sweep
	if err := json.Unmarshal([]byte(stdout), &s); err != nil || code != 0 && code != 6 || len(s.Series) != 1 {
		t.Fatalf("ended with %d, %v:\n%s", code, err, said)
	}
	all := s.Series[0].Points[0].Failovers
	if len(all) != 1 || all[0].Of != "kill holder" || len(all[0].TookNs) == 0 || all[0].Predicted != nil {
		t.Errorf("failovers: %+v\n%s", all, said)
	}
	for _, f := range all {
		for _, took := range f.TookNs { // no session ends before it was silent for two thirds of its timeout
			if took < int64(time.Second)*2/3 {
				t.Errorf("a failover took %s", time.Duration(took))
			}
		}
	}
}

// benched runs a benchmark on the ensemble.
func (e *elsewhere) benched(t *testing.T) {
	args := append([]string{"bench", filepath.Join(e.dir, "unbounded.yaml"), "--count", "2",
		"--hold", "10ms", "--duration", "3s", "--out", filepath.Join(t.ArtifactDir(), "bench")}, e.way("auth")...)
	if code, stdout, said := e.run(args...); code != 0 {
		t.Errorf("ended with %d:\n%s%s", code, stdout, said)
	}
}
