package sweep

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"locklab/harness/check/effect"
	"locklab/harness/check/evidence"
	"locklab/reports/result"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// took is the failovers of a run, in ms; one that is negative is censored, and 0 is left out.
func took(of string, servers bool, ms ...int64) (all []result.Failover) {
	for i, n := range ms {
		f := result.Failover{Fault: "f" + string(rune('a'+i)), Of: of, Servers: servers, Lock: "/locks/0"}
		switch {
		case n == 0:
			f.LeftOut = result.FailoverNoWaiter
		case n < 0:
			f.TookNs, f.Censored = new(-n*1e6), true
		default:
			f.TookNs = new(n * 1e6)
		}
		all = append(all, f)
	}
	return all
}

// failoverInput is a sweep of failovers over two session timeouts and two ticks.
func failoverInput() Input {
	in := Input{Header: Header{Scenario: "failover", About: "How long?", Seed: 1, Repeat: 2}}
	in.Params = []Param{param("session-timeout", "1s", "4s"), param("tick", "100ms", "500ms")}
	in.Params[0].Numbers, in.Params[1].Numbers = []float64{1e9, 4e9}, []float64{1e8, 5e8}
	for i, timeout := range []time.Duration{time.Second, 4 * time.Second} {
		for k, tick := range []time.Duration{100 * time.Millisecond, 500 * time.Millisecond} {
			p := PointRuns{Values: map[string]string{"session-timeout": in.Params[0].Values[i], "tick": in.Params[1].Values[k]},
				Setting: Setting{Clients: 8, Locks: 4, Timeout: timeout, Tick: tick, SyncLimit: 5}}
			t := int64(timeout / time.Millisecond)
			for n := range int64(2) {
				r := &result.Result{Verdict: evidence.Pass, Faults: []effect.FaultRecord{{ID: "fa"}}}
				r.Throughput.AcquiredPerS = new(10.0)
				r.Failovers = append(took("kill holder", false, t+10*n, t-20*n, t+30, t, 0, t+5),
					took("kill leader", true, 700+n, -2900)...)
				p.Runs = append(p.Runs, Run{Dir: "x", Result: r})
			}
			in.Points = append(in.Points, p)
		}
	}
	return in
}

// The failovers of a point's runs are put together, and the table, the notes and the headlines tell them.
func TestFailovers(t *testing.T) {
	s := Summarize(failoverInput())
	p := &s.Series[0].Points[0]
	holder, leader := p.failover("kill holder"), p.failover("kill leader")
	if holder.Faults != 10 || len(holder.TookNs) != 10 || holder.LeftOut[result.FailoverNoWaiter] != 2 ||
		!slices.IsSorted(holder.TookNs) || *holder.MinNs != 980e6 || *holder.P50Ns != 1000e6 || *holder.P90Ns != 1030e6 ||
		*holder.MaxNs != 1030e6 {
		t.Errorf("after kill holder: %+v", holder)
	}
	if leader.Faults != 4 || len(leader.TookNs) != 2 || len(leader.CensoredNs) != 2 || *leader.P50Ns != 701e6 ||
		leader.P90Ns != nil || leader.show(leader.P50Ns) != "701 ms" || leader.show(leader.MaxNs) != "≥ 2.9 s" {
		t.Errorf("after kill leader: %+v", leader)
	}
	var out strings.Builder
	if err := Print(&out, s); err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "failover.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	dir := t.TempDir()
	if err := Render(dir, s); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "report.html"))
	if err != nil || !strings.Contains(string(b), `id="failovers"`) {
		t.Errorf("%v: the page has no failovers", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "plots", "failover.svg")); err != nil {
		t.Error(err)
	}
}

// The samples of many series stand beside each other on a logarithmic axis too, and a single point has no axis.
func TestFailoverFigures(t *testing.T) {
	in := failoverInput()
	in.Params[0].Key, in.Params[0].Numbers = "clients", []float64{1, 256}
	for i := range in.Points {
		in.Points[i].Values["clients"] = in.Points[i].Values["session-timeout"]
	}
	s := Summarize(in)
	if err := Render(t.TempDir(), s); err != nil {
		t.Error(err)
	}
	for n := range s.Series {
		if x := s.beside(1, n); x < 0.9 || x > 1.1 {
			t.Errorf("series %d is drawn at %g", n, x)
		}
	}
	in = failoverInput()
	in.Points = in.Points[:1]
	for i := range in.Params {
		in.Params[i].Values = in.Params[i].Values[:1]
	}
	s = Summarize(in)
	if f := s.failoverFigure(); s.Load != "" || f.Draw != nil {
		t.Errorf("load %q, and a picture", s.Load)
	}
	if err := Render(t.TempDir(), s); err != nil {
		t.Error(err)
	}
}

// Sessions expire as [evidence.Expiry] says, and an election takes a fifth of a second at least. Nothing is predicted
// where that does not decide.
func TestPredictsFailovers(t *testing.T) {
	s := Setting{Timeout: 3 * time.Second, Tick: 200 * time.Millisecond, SyncLimit: 5}
	for _, c := range []struct {
		of      string
		servers bool
		want    string
	}{
		{"kill holder", false, "2 s–3.3 s"},
		{"pause c1", false, "2 s–3.3 s"},
		{"partition holder from servers", false, "2 s–3.3 s"},
		{"partition holder from servers way in", false, "n/a"},
		{"stop holder", false, "n/a"}, // ends its session in an orderly way
		{"expire-session holder", false, "n/a"},
		{"kill leader", true, "≥ 200 ms"},
		{"rolling-restart all", true, "≥ 200 ms"},
		{"partition leader from servers", true, "≥ 1.1 s"},
		{"partition leader from clients", true, "n/a"},
		{"kill follower", true, "n/a"},
	} {
		if got := predictFailover(c.of, c.servers, s).String(); got != c.want {
			t.Errorf("%s: %s, want %s", c.of, got, c.want)
		}
	}
	if got := predictFailover("kill holder", false, Setting{}); got != nil {
		t.Errorf("of an ensemble elsewhere: %s", got)
	}
}
