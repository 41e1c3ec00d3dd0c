package measure

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"locklab/harness/history"
	"locklab/reports/internal/synth"
)

func TestJainAndGini(t *testing.T) {
	for _, c := range []struct {
		name       string
		x          []int64
		jain, gini float64
	}{
		// (4·5)² / (4·4·25) = 400/400; no differences.
		{"even", []int64{5, 5, 5, 5}, 1, 0},
		// 12² / (4·144) = 1/4. Sorted 0 0 0 12: weights -3 -1 1 3, 36/(4·12) = 3/4.
		{"one got all", []int64{12, 0, 0, 0}, 0.25, 0.75},
		// (1+2+3)² / (3·14) = 36/42. Weights -2 0 2: (-2+6)/(3·6) = 4/18.
		{"slope", []int64{3, 1, 2}, 36.0 / 42, 4.0 / 18},
		// (1+3)² / (2·10) = 16/20. Weights -1 1: 2/(2·4) = 1/4.
		{"two", []int64{1, 3}, 0.8, 0.25},
		{"alone", []int64{7}, 1, 0},
	} {
		if got := Jain(c.x); math.Abs(got-c.jain) > 1e-12 {
			t.Errorf("%s: Jain %v, want %v", c.name, got, c.jain)
		}
		if got := Gini(c.x); math.Abs(got-c.gini) > 1e-12 {
			t.Errorf("%s: Gini %v, want %v", c.name, got, c.gini)
		}
	}
}

var wholeSecond = Interval{From: 0, Until: synth.Ms(1000), End: synth.Ms(1000), Measured: true}

func TestFairnessOfStarvedAndBypassed(t *testing.T) {
	acq := []history.Acquisition{
		synth.Waiting("a", 5, 6),
		synth.Grant("b", 10, 11, 20, 30), // asked after a was queued, got it before: past a
		synth.Grant("c", 40, 41, 50, 60), // and again
		synth.Grant("b", 61, 62, 70, 80), // and again
	}
	f := FairnessOf(acq, history.GrantsByLock(acq), wholeSecond)
	if *f.StarvedClients != 1 || *f.MaxBypass != 3 {
		t.Errorf("starved %d, most bypasses %d; want 1 and 3", *f.StarvedClients, *f.MaxBypass)
	}
	if diff := cmp.Diff(map[string]int64{"a": 3, "b": 0, "c": 0}, Bypasses(acq, wholeSecond)); diff != "" {
		t.Errorf("bypasses of each client (-want +got):\n%s", diff)
	}
	// Grants 2, 1, 0: 3²/(3·5) = 0.6.
	if math.Abs(*f.Jain-0.6) > 1e-12 {
		t.Errorf("Jain %v, want 0.6", *f.Jain)
	}
}

// Clients with as many grants differ in the time for which they had the lock. A hold counts as far as it lies in the
// window, until its end or until it was lost, even if it was granted before.
func TestHoldRSD(t *testing.T) {
	lost := synth.Grant("c", 700, 701, 710, 900)
	lost.Trouble = &history.Trouble{Lost: synth.Ms(730), Died: history.None}
	acq := []history.Acquisition{
		synth.Grant("old", -20, -15, -10, 30), // 30 ms of it in the window
		synth.Grant("a", 10, 11, 40, 50),      // 10 ms
		synth.Grant("b", 20, 21, 100, 130),    // 30 ms
		lost,                                  // 20 ms
		synth.Grant("d", 800, 801, 990, 2000), // 10 ms
		synth.Waiting("e", 5, 6),              // nothing
		synth.Grant("late", 1500, 1501, 1600, 1700),
	}
	want := map[string]int64{"old": synth.Ms(30), "a": synth.Ms(10), "b": synth.Ms(30), "c": synth.Ms(20),
		"d": synth.Ms(10), "e": 0}
	if diff := cmp.Diff(want, HeldTimes(acq, wholeSecond)); diff != "" {
		t.Errorf("times (-want +got):\n%s", diff)
	}
	// The mean of 30 10 30 20 10 0 is 100/6; the squares are 2400, so the variance is 400 - (100/6)² = 122.2.
	f := FairnessOf(acq, history.GrantsByLock(acq), wholeSecond)
	if sd := math.Sqrt(400 - 10000.0/36); f.HoldRSD == nil || math.Abs(*f.HoldRSD-sd/(100.0/6)) > 1e-9 {
		t.Errorf("relative standard deviation %v", f.HoldRSD)
	}
	// Both get one grant, and one has the lock three times as long: times 10 and 30, mean 20, deviation 10.
	even := []history.Acquisition{synth.Grant("a", 10, 11, 40, 50), synth.Grant("b", 20, 21, 100, 130)}
	if f := FairnessOf(even, history.GrantsByLock(even), wholeSecond); *f.Jain != 1 || math.Abs(*f.HoldRSD-0.5) > 1e-9 {
		t.Errorf("Jain %v, relative standard deviation %v; want 1 and 0.5", *f.Jain, *f.HoldRSD)
	}
	if f := FairnessOf(acq[5:6], nil, wholeSecond); f.HoldRSD != nil {
		t.Errorf("nobody had the lock: %v", *f.HoldRSD)
	}
}

func TestBypass(t *testing.T) {
	reader := func(a history.Acquisition) history.Acquisition { a.Mode = "read"; return a }
	for _, c := range []struct {
		name string
		acq  []history.Acquisition
		want int64
	}{
		{"in order", []history.Acquisition{synth.Grant("a", 0, 1, 10, 20), synth.Grant("b", 5, 6, 21, 30),
			synth.Grant("a", 22, 23, 31, 40)},
			0},
		// c asked at 8, when b was queued (6), and got it at 12, before b at 25.
		{"one past", []history.Acquisition{synth.Grant("a", 0, 1, 2, 11), synth.Grant("b", 5, 6, 25, 30),
			synth.Grant("c", 8, 9, 12, 24)}, 1},
		// c was queued later than b but had asked before b's place was known, so it is not certain.
		{"not certain", []history.Acquisition{synth.Grant("b", 5, 9, 25, 30), synth.Grant("c", 8, 10, 12, 24)}, 0},
		{"readers share", []history.Acquisition{reader(synth.Grant("b", 5, 6, 25, 30)),
			reader(synth.Grant("c", 8, 9, 12, 24))}, 0},
	} {
		if got := maxBypass(c.acq, wholeSecond); got == nil || *got != c.want {
			t.Errorf("%s: %v, want %d", c.name, got, c.want)
		}
	}
	none := []history.Acquisition{{Claimant: &history.Claimant{Client: "a", Lock: synth.TheLock}, Invoked: 1,
		Queued: history.None, Returned: 2, Outcome: history.OK}}
	if got := maxBypass(none, wholeSecond); got != nil {
		t.Errorf("without places: %d, want nil", *got)
	}
}

func TestLWSS(t *testing.T) {
	take := func(clients string) (all []history.Acquisition) {
		for i, c := range clients {
			at := float64(i) * 10
			all = append(all, synth.Grant(string(c), at, at+1, at+2, at+5))
		}
		return all
	}
	for _, c := range []struct {
		order string
		want  float64
	}{
		{"abcabc", 3}, // windows abc bca cab abc
		{"aaabcc", 2}, // aaa 1, aab 2, abc 3, bcc 2: 8/4
	} {
		got, k := lwss(history.GrantsByLock(take(c.order)), wholeSecond)
		if got == nil || math.Abs(*got-c.want) > 1e-12 || *k != 3 {
			t.Errorf("%s: %v in %v, want %v in 3", c.order, got, k, c.want)
		}
	}
	if got, _ := lwss(history.GrantsByLock(take("aaaa")), wholeSecond); got != nil {
		t.Errorf("one client: %v, want nil", *got)
	}
}

func TestCompareNatural(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"c2/9", "c2/10", -1}, {"c10/1", "c2/1", 1}, {"c1/1", "c1/1", 0}, {"c1", "c1/1", -1}, {"zk1", "c9", 1}} {
		if got := CompareNatural(c.a, c.b); got != c.want {
			t.Errorf("compareNatural(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
