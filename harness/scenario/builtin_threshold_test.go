package scenario_test

import (
	"testing"

	"locklab/harness/scenario"
)

// holds reports whether x meets the threshold.
func holds(t *testing.T, th scenario.Threshold, x float64) bool {
	t.Helper()
	switch th.Op {
	case "<":
		return x < th.Limit
	case ">":
		return x > th.Limit
	case "==":
		return x == th.Limit
	}
	t.Fatalf("unexpected operator in %s", th)
	return false
}

// The thresholds of built-in scenarios distinguish a slow machine from a broken lock. The numbers in sound
// come from a machine that is four times too slow, and meet all thresholds. The numbers of each breakage miss one.
func TestBuiltinThresholdsFindBrokenLocks(t *testing.T) {
	type numbers map[string]float64
	for name, c := range map[string]struct {
		sound  numbers
		broken map[string]numbers
	}{
		// 5000 clients that think for 20 s ask 250 times a second. Waits of 200 ms, four times: at the end 250 × 0.8 = 200
		// wait.
		"sessions-5000": {numbers{"acquired_per_s": 5000 / 20.8, "fairness.starved_clients": 200}, map[string]numbers{
			"a client waits for a minute and more": {"acquired_per_s": 5000 / 90.0},
			"half of the locks are stuck":          {"fairness.starved_clients": 2500},
		}},
		"sessions-20000": {numbers{"acquired_per_s": 20000 / 80.8, "fairness.starved_clients": 200}, map[string]numbers{
			"a client waits for five minutes and more": {"acquired_per_s": 20000 / 390.0},
			"half of the locks are stuck":              {"fairness.starved_clients": 2500},
		}},
		// 200 a second where the rate is above that, four times as slow: 50, and all the rest dropped.
		"ramp": {numbers{"acquired_per_s": 50, "dropped": 4000}, map[string]numbers{
			"it never falls over":       {"dropped": 0},
			"it stops as it falls over": {"acquired_per_s": 10},
		}},
		// 300 a second are possible, and 120 are due. On a machine four times as slow, 75 are possible and 45 are dropped.
		"open-loop": {numbers{"acquired_per_s": 75, "dropped_per_s": 45}, map[string]numbers{
			"most callers find no client free": {"dropped_per_s": 100},
			"next to nothing is granted":       {"acquired_per_s": 20},
		}},
		// 400 a second, four times as slow.
		"hot-locks": {numbers{
			"acquired_per_s": 100, "fairness.starved_clients": 0, "server.watches_fired_per_release": 2,
		}, map[string]numbers{
			"a release wakes every waiter": {"server.watches_fired_per_release": 8},
			"a client never has a turn":    {"fairness.starved_clients": 1},
			// The hottest lock gives 10 a second, which is a third of all.
			"a release is noticed after 100 ms": {"acquired_per_s": 30},
		}},
	} {
		s, err := scenario.Builtin(builtins, name)
		if err != nil {
			t.Fatal(err)
		}
		met := func(of numbers) bool {
			for _, th := range s.Thresholds {
				x, given := of[th.Metric]
				if !given {
					x, given = c.sound[th.Metric]
				}
				if !given {
					t.Fatalf("%s: the test has no number for %s", name, th)
				}
				if !holds(t, th, x) {
					return false
				}
			}
			return true
		}
		if !met(c.sound) {
			t.Errorf("%s: a slow machine misses %v", name, s.Thresholds)
		}
		for how, numbers := range c.broken {
			if met(numbers) {
				t.Errorf("%s: %v all hold although %s", name, s.Thresholds, how)
			}
		}
	}
}
