package main

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"locklab/harness/check/evidence"
	"locklab/harness/scenario"
	"locklab/reports/figures"
	"locklab/reports/sweep"
	"locklab/workloads"
)

var twoPieces = figures.Figure{Name: "two", Rounds: 3, Pieces: []figures.Piece{{Name: "one"}, {Name: "other"}},
	Keys: []string{figures.KeyPeer}}

// What was interrupted goes on, a disturbed round is measured again, and no piece is a round ahead of the others.
func TestRecorder(t *testing.T) {
	root := t.TempDir()
	var order []string
	stop := 3 // measurements until the interruption
	r := &recorder{root: root, until: time.Now().Add(time.Hour), under: figures.Conditions{Processors: 2}, locklab: "abc",
		say: t.Logf}
	r.window = func(context.Context) (float64, error) { return 100, nil }
	r.peers = func(_ context.Context, p *figures.Piece, round int) ([]figures.Record, error) {
		if stop--; stop < 0 {
			return nil, context.Canceled
		}
		order = append(order, p.Name+strconv.Itoa(round))
		m := figures.Record{Cell: map[string]string{figures.KeyPeer: "mutex"}, Others: new(0.0)}
		if p.Name == "one" && round == 2 {
			m.Others = new(1.0)
		}
		return []figures.Record{m}, nil
	}
	if err := r.complete(t.Context(), &twoPieces); err == nil {
		t.Error("the interruption is no error")
	}
	stop = 100
	if err := r.complete(t.Context(), &twoPieces); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(order), "[one1 other1 one2 one3 other2 one4 other3]"; got != want {
		t.Errorf("measured %s, want %s", got, want)
	}
	all, err := twoPieces.Read(root)
	if err != nil || len(all) != len(order) || all[0].Locklab != "abc" || !*all[0].Steady || all[0].Conditions != r.under {
		t.Errorf("%+v, %v", all, err)
	}
	r.under.ZooKeeper, r.until = "3.9.6", time.Now()
	if err := r.complete(t.Context(), &twoPieces); err != nil || len(order) != len(all) {
		t.Errorf("something was measured when no time was left: %v, %v", order, err)
	}
}

// The servers are loaded until their throughput no longer rises, but not for ever, and only once.
func TestWarmUp(t *testing.T) {
	for _, c := range []struct {
		rates  []float64
		want   int // windows
		steady bool
	}{
		{[]float64{100, 200, 250, 255}, 4, true}, // rises by less than 5 %
		{[]float64{100, 90}, 2, true},
		{[]float64{100, 120, 150, 180, 220, 270, 330}, 6, false},
	} {
		n := 0
		r := &recorder{say: t.Logf, window: func(context.Context) (float64, error) { n++; return c.rates[n-1], nil }}
		for range 2 {
			if err := r.warmUp(t.Context()); err != nil || n != c.want || *r.steady != c.steady {
				t.Errorf("%v: %d windows, steady %v, %v", c.rates, n, *r.steady, err)
			}
		}
	}
}

// A point of a sweep is a cell. A run that did not pass has no figures, because what it measured is of a lock that let
// something through, or of too little.
func TestCells(t *testing.T) {
	s := &sweep.Sweep{Series: []sweep.Series{{Points: []sweep.Point{
		{Values: map[string]string{"clients": "8"}, Verdict: evidence.Pass,
			Medians: map[string]float64{"acquired_per_s": 100, "other_processors": 0.1}},
		{Values: map[string]string{"clients": "64"}, Verdict: evidence.Fail, Why: "two holders",
			Medians: map[string]float64{"acquired_per_s": 900}},
	}}}}
	all := cells(s)
	if len(all) != 2 || all[0].Failed != "" || *all[0].Others != 0.1 || all[0].Values["acquired_per_s"] != 100 ||
		all[0].Cell["clients"] != "8" {
		t.Errorf("%+v", all)
	}
	if bad := all[1]; bad.Failed != "fail: two holders" || !bad.Disturbed() {
		t.Errorf("a violation: %+v", bad)
	}
}

// What the machine used beyond our processes is others', and what the servers used is shared by the acquisitions.
func TestCharge(t *testing.T) {
	s := Sample{Figures: Figures{PerSecond: 500}}
	at := time.Unix(0, 0)
	s.charge(usedBy{at: at, machine: time.Hour, ours: time.Minute, server: time.Second},
		usedBy{at: at.Add(4 * time.Second), machine: time.Hour + 7*time.Second, ours: time.Minute + 5*time.Second,
			server: 3 * time.Second})
	if *s.Others != 0.5 || *s.ServerCPU != int64(time.Millisecond) {
		t.Errorf("%v processors of others, %v ns of the servers", *s.Others, *s.ServerCPU)
	}
	if v := s.values(); v["acquired_per_s"] != 500 || v["server_per_acquire"] != 1e6 {
		t.Errorf("%v", v)
	}
}

// The peers of every piece are known, and locklab knows the scenario of every sweep.
func TestPieces(t *testing.T) {
	for _, f := range figures.All {
		for _, p := range f.Pieces {
			if len(p.Sweep) == 0 {
				if len(Peers[p.Lock]) == 0 || p.Clients < 1 || p.Locks < 1 {
					t.Errorf("%s: %+v", f.Name, p)
				}
				continue
			}
			if _, err := scenario.Builtin(workloads.Builtin, p.Sweep[0]); err != nil {
				t.Errorf("%s: %v", f.Name, err)
			}
		}
	}
}
