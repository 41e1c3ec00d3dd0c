package scenario_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"locklab/harness/scenario"
)

func TestParseThreshold(t *testing.T) {
	for text, want := range map[string]scenario.Threshold{
		"acquire.p99<50ms":                 {Metric: "acquire.p99", Op: "<", Limit: 50e6, Duration: true},
		"  acquire.p99   <=  1m30s ":       {Metric: "acquire.p99", Op: "<=", Limit: 90e9, Duration: true},
		"acquired_per_s > 400":             {Metric: "acquired_per_s", Op: ">", Limit: 400},
		"acquired_per_s>=1.5e3":            {Metric: "acquired_per_s", Op: ">=", Limit: 1500},
		"overlaps == 0":                    {Metric: "overlaps", Op: "==", Limit: 0},
		"overlaps==-0":                     {Metric: "overlaps", Op: "==", Limit: 0},
		"fairness.jain != .99":             {Metric: "fairness.jain", Op: "!=", Limit: 0.99},
		"latency.acquire.p99_ns < 50ms":    {Metric: "acquire.p99", Op: "<", Limit: 50e6, Duration: true},
		"throughput.acquired_per_s > 400":  {Metric: "acquired_per_s", Op: ">", Limit: 400},
		"safety.overlaps == 0":             {Metric: "overlaps", Op: "==", Limit: 0},
		"safety.max_overlap_ns < 1s":       {Metric: "max_overlap", Op: "<", Limit: 1e9, Duration: true},
		"server.watches_fired_per_s <0.1s": {Metric: "server.watches_fired_per_s", Op: "<", Limit: 1e8, Duration: true},
	} {
		got, err := scenario.ParseThreshold(text)
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v; want %+v", text, got, err, want)
		}
		if reread, err := scenario.ParseThreshold(got.String()); err != nil || reread != got {
			t.Errorf("%q is written as %q: %v", text, got, err)
		}
	}
}

// Thresholds on one number are refused if no value can meet them all.
func TestThresholdsTogether(t *testing.T) {
	for _, c := range []struct {
		a, b string
		ok   bool
	}{
		{"n < 5", "n > 5", false}, {"n <= 5", "n > 5", false}, {"n < 5", "n >= 5", false}, {"n <= 5", "n >= 5", true},
		{"n < 5", "n > 4", true}, {"n == 5", "n > 5", false}, {"n == 5", "n >= 5", true}, {"n == 5", "n < 6", true},
		{"n == 5", "n != 5", false}, {"n == 5", "n != 6", true}, {"n != 5", "n != 6", true}, {"n != 5", "n < 5", true},
		{"n > 5", "n > 6", false}, // the weaker adds nothing, so one of the two is a mistake
		{"n > 5", "m < 5", true},
	} {
		for _, list := range [][]string{{c.a, c.b}, {c.b, c.a}} {
			s := scenario.Defaults()
			if err := s.SetThresholds(list); err != nil {
				t.Fatal(err)
			}
			err := s.Validate()
			e, refused := errors.AsType[*scenario.InputError](err)
			if refused == c.ok || refused && e.Flag != "--threshold" {
				t.Errorf("%q: %v, want it accepted: %t", list, err, c.ok)
			}
		}
	}
}

// Thresholds made by code are validated too, and a clone shares none.
func TestThresholdsMadeByCode(t *testing.T) {
	for _, th := range []scenario.Threshold{
		{},
		{Metric: "overlaps", Op: "=", Limit: 1},
		{Metric: "Overlaps", Op: "<", Limit: 1},
		{Metric: "overlaps", Op: "<", Limit: -1},
		{Metric: "acquire.p99", Op: "<", Limit: 0.5, Duration: true},
	} {
		s := scenario.Defaults()
		s.Thresholds = []scenario.Threshold{th}
		if err := s.Validate(); err == nil {
			t.Errorf("%+v passes", th)
		}
	}
	s := mustLoad(t, "thresholds: [overlaps == 0]")
	c := s.Clone()
	c.Thresholds[0].Limit = 1
	if s.Thresholds[0].Limit != 0 {
		t.Error("the clone shares thresholds")
	}
}

// Only the thresholds of the strongest source count.
func TestThresholdPrecedence(t *testing.T) {
	for _, c := range []struct {
		file, env, flag, want, origin string
	}{
		{"", "", "", "", ""},
		{"n < 1", "", "", "n < 1", "dir/some-run.yaml:1"},
		{"", "n < 2", "", "n < 2", "LOCKLAB_THRESHOLD"},
		{"n < 1", "n < 2", "", "n < 2", "LOCKLAB_THRESHOLD"},
		{"", "", "n < 3", "n < 3", "--threshold"},
		{"n < 1", "", "n < 3", "n < 3", "--threshold"},
		{"n < 1", "n < 2", "n < 3", "n < 3", "--threshold"},
	} {
		flag := func(s *scenario.Scenario) error {
			if c.flag == "" {
				return nil
			}
			return s.SetThresholds([]string{c.flag})
		}
		env := func(s *scenario.Scenario) error {
			if c.env == "" {
				return nil
			}
			return s.ApplyEnv(environ(map[string]string{"LOCKLAB_THRESHOLD": c.env}))
		}
		for _, order := range [][]func(*scenario.Scenario) error{{flag, env}, {env, flag}} {
			src := "thresholds: [" + c.file + "]"
			s := mustLoad(t, src)
			for _, do := range order {
				if err := do(s); err != nil {
					t.Fatal(err)
				}
			}
			var got []string
			for _, th := range s.Thresholds {
				got = append(got, th.String(), s.OriginOf("thresholds[0]"))
			}
			var want []string
			if c.want != "" {
				want = []string{c.want, c.origin}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%+v (-want +got):\n%s", c, diff)
			}
		}
	}
}

// Thresholds that resemble refused ones, but that a run can miss, are accepted.
func TestThresholdsThatCanBeMissed(t *testing.T) {
	for _, src := range []string{
		"wait: 50ms\nthresholds: [acquire.p99 < 49ms, acquire.p50 > 60ms, handoff.p50 < 1s, acquire.count < 60]",
		"thresholds: [acquire.p99 < 60ms]",
		"arrivals: poisson\nrate: 9\nwait: 50ms\nthresholds: [acquire.p99 < 1s]", // from when it was due
		"thresholds: [fairness.jain >= 1]",
		"thresholds: [fairness.jain < 1]",
		"thresholds: [fairness.jain == 1]",
		"thresholds: [fairness.jain != 1]",
		"expect: {service-exclusion: any, belief-exclusion: any, effect: any, tokens: any, fairness: any, liveness: any}\n" +
			"thresholds: [acquired_per_s > 1]",
		"workload: read-write\nread-share: 1\nexpect: {effect: any, liveness: fail}",
	} {
		if err := refuse(src); err != nil {
			t.Errorf("%s: %v", src, err)
		}
	}
}
