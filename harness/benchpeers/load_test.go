package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"locklab/harness/scenario"
	"locklab/recipes/zktest"
	"locklab/reports/capacity"
)

// What was lost took longer than all that was measured, and counts as due. What was due outside the window counts as
// nothing.
func TestLoadSample(t *testing.T) {
	r := Record{Begin: Usage{At: 1e9}, End: Usage{At: 3e9}}
	for i := range int64(2000) {
		h := Hold{Asked: 1e9 + i, Granted: 1e9 + i + 7e6, Released: 1e9 + i + 12e6}
		if i < 10 {
			h.Granted, h.Released = never, never
		}
		r.Holds = append(r.Holds, h)
	}
	r.Holds = append(r.Holds, Hold{Asked: 9e8, Granted: never, Released: never},
		Hold{Asked: 3e9, Granted: 4e9, Released: 5e9})
	s := sampleOf(r)
	if s.Due != 2000 || s.Lost != 10 || s.PerS != 995 || s.P99 == nil || *s.P99 != 7e6 || *s.HoldP50 != 5e6 {
		t.Errorf("%+v", s)
	}
	for i := range 11 { // now more than 1 % are lost
		r.Holds[10+i].Granted, r.Holds[10+i].Released = never, never
	}
	if s := sampleOf(r); s.P99 != nil || s.P50 == nil {
		t.Errorf("p99 %v lies among the lost, p50 %v does not", s.P99, s.P50)
	}
	load, servers := 0.5e9, 2e9
	s.charge(&load, &servers, 2)
	if *s.LoadUsed != 0.25 || math.Round(*s.Load) != 251256 || math.Round(*s.Servers) != 1005025 {
		t.Errorf("%v processors, %v and %v ns", *s.LoadUsed, *s.Load, *s.Servers)
	}
}

// The limit is found to 5 %, although a few windows miss the bound far below it, or keep it above.
func TestCrossing(t *testing.T) {
	for _, knee := range []float64{40, 777, 5000} {
		n := 0
		got, err := crossing(500, func(rate float64) (float64, bool, error) {
			n++
			return min(rate, knee), rate < knee != (n%9 == 0), nil
		})
		if err != nil || math.Abs(got/knee-1) > 0.05 {
			t.Errorf("%v for %v, %v", got, knee, err)
		}
	}
	failed := errors.New("failed")
	if _, err := crossing(500, func(float64) (float64, bool, error) { return 0, false, failed }); !errors.Is(err, failed) {
		t.Error(err)
	}
	if got, err := crossing(500, func(rate float64) (float64, bool, error) { return rate, false, nil }); err == nil {
		t.Errorf("%v, although no rate keeps the bound", got)
	}
}

// A ratio has an interval from six rounds on, and misses its goal if a round has none.
func TestLoadTable(t *testing.T) {
	cell := LoadCell{Share: 0.8, Shape: Shape{Recipe: ZKLock, Rate: 800}}
	for i := range int64(6) {
		base, head := (10+i)*1e6, (11+i)*1e6
		cell.Thin = append(cell.Thin, LoadSample{PerS: 800, P99: &base})
		cell.Locklab = append(cell.Locklab, LoadSample{PerS: 790, P99: &head, Lost: 1, Due: 100})
	}
	limits := LoadLimits{Recipe: ZKLock, Thin: []float64{1000}}
	for _, found := range []capacity.Limit{
		{Lower: new(700.), Undisturbed: new(900.)},
		{Undisturbed: new(1000.)},
		{Lower: new(400.), AtLeast: true},
		{Lower: new(980.)},
	} {
		limits.add(&found)
	}
	table := func() string {
		var b bytes.Buffer
		c := LoadComparison{Cells: []LoadCell{cell}, BoundNs: 1e8, Limits: []LoadLimits{limits}}
		if err := c.print(&b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	all := table()
	for _, want := range []string{"zk-lock, uniform, 0.8 of the limit: 800/s", "1.08 (1.07…1.10)", "≤ 1.20: met",
		"6 of 600", "crosses 100ms at 1000/s", "found 980/s (median of 3), 0.98 times",
		"after one, is 840/s (2 of 4 searches)",
		"in 1 of 4 searches the load side was the limit"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in\n%s", want, all)
		}
	}
	cell.Locklab[2].P99 = nil
	if all := table(); !strings.Contains(all, ", in 5 of 6 rounds") || !strings.Contains(all, "≤ 1.20: missed") {
		t.Errorf("a lost p99:\n%s", all)
	}
}

// Both loads get the same shape.
func TestLoadScenario(t *testing.T) {
	c := LoadConfig{Warmup: time.Second, Window: 2 * time.Second, Processes: 2}
	to := &targets{addresses: []string{"127.0.0.1:2181", "127.0.0.1:2182"}}
	for _, shape := range []Shape{
		{Recipe: ZKLock, Clients: 200, Locks: 50, Hold: 5 * time.Millisecond, Dealt: true},
		{Recipe: ZKLock, Clients: 200, Locks: 50, Hold: 5 * time.Millisecond, Dealt: true, Rate: 800, Queue: 1000},
		{Recipe: Mutex, Clients: 200, Locks: 50, Hold: 5 * time.Millisecond, Rate: 800, Queue: 1000},
	} {
		sc, err := scenario.Load("bench-load.yaml", c.scenario(to, shape))
		if err != nil {
			t.Fatal(err)
		}
		rate := 0.0
		if sc.Open() {
			rate = sc.Rate.Rates[0]
		}
		if sc.Clients != shape.Clients || sc.Locks != shape.Locks || rate != shape.Rate || sc.Queue != shape.Queue {
			t.Errorf("%+v became %d clients, %d locks, %g/s, a queue of %d", shape, sc.Clients, sc.Locks, rate, sc.Queue)
		}
	}
}

// The thin load offers both loops with both recipes, counts what is due in the window, and leaves no lock behind.
func TestThin(t *testing.T) {
	service := zktest.StartWith(t, zktest.Config{Servers: 3})
	for name, shape := range map[string]Shape{
		"closed":       {Recipe: ZKLock, Clients: 6, Locks: 2},
		"dealt":        {Recipe: Mutex, Clients: 6, Locks: 2, Dealt: true},
		"open":         {Recipe: ZKLock, Clients: 6, Locks: 2, Rate: 500, Queue: 1000},
		"open, dealt":  {Recipe: ZKLock, Clients: 6, Locks: 2, Rate: 500, Queue: 1000, Dealt: true},
		"open, mutex":  {Recipe: Mutex, Clients: 6, Locks: 2, Rate: 500, Queue: 1000},
		"open, choked": {Recipe: ZKLock, Clients: 1, Locks: 1, Rate: 500, Hold: 100 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			shape.Hold = max(shape.Hold, time.Millisecond)
			dir := t.TempDir()
			in, say := io.Pipe()
			ended := make(chan error, 1)
			path := "/" + strings.ReplaceAll(strings.ReplaceAll(name, " ", ""), ",", "-")
			go func() { ended <- Thin{Shape: shape, Servers: service.Addrs(), Path: path}.Run(t.Context(), dir, in) }()
			if err := ready(t.Context(), filepath.Join(dir, readyFile), ended); err != nil {
				t.Fatal(err)
			}
			for _, line := range []string{beginLine, endLine} {
				if _, err := io.WriteString(say, line+"\n"); err != nil {
					t.Fatal(err)
				}
				if err := pass(t.Context(), 300*time.Millisecond); err != nil {
					t.Fatal(err)
				}
			}
			if err := <-ended; err != nil {
				t.Fatal(err)
			}
			f, err := os.Open(filepath.Join(dir, recordFile))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			r, err := ReadRecord(f)
			if err != nil {
				t.Fatal(err)
			}
			s := sampleOf(r)
			if choked := strings.HasSuffix(name, "choked"); s.Due == 0 || choked != (s.Lost > s.Due/2) {
				t.Errorf("%d of %d were lost", s.Lost, s.Due)
			}
			c, err := connectBare(t.Context(), service.Addrs()[0])
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if there, _, err := c.Exists(path); err != nil || there {
				t.Errorf("the locks are still there: %v, %v", there, err)
			}
		})
	}
}

// A shape that the thin load does not have is refused.
func TestThinRefuses(t *testing.T) {
	good := Thin{Shape: Shape{Recipe: ZKLock, Clients: 1, Locks: 1}, Servers: []string{"127.0.0.1:1"}, Path: "/x"}
	for name, change := range map[string]func(*Thin){
		"recipe":  func(t *Thin) { t.Recipe = "rw" },
		"servers": func(t *Thin) { t.Servers = nil },
		"locks":   func(t *Thin) { t.Locks = 0 },
	} {
		bad := good
		change(&bad)
		if err := bad.Run(context.Background(), t.TempDir(), strings.NewReader("")); err == nil ||
			!strings.Contains(err.Error(), "no thin load") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
