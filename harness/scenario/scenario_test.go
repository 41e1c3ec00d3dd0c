package scenario_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"locklab/harness/check/evidence"
	"locklab/harness/scenario"
	"locklab/workloads"
	"locklab/workloads/lock"
)

// mustLoad loads a scenario that gives these keys.
func mustLoad(t *testing.T, src string) *scenario.Scenario {
	t.Helper()
	if src == "" {
		src = "{}"
	}
	s, err := scenario.Load("dir/some-run.yaml", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestNoKeysAreDefaults(t *testing.T) {
	for _, src := range []string{"{}", "# nothing\n{}\n", "---\n{}", "%YAML 1.2\n---\n{}"} {
		s := mustLoad(t, src)
		want := scenario.Defaults()
		want.Name = "some-run"
		if diff := cmp.Diff(want, s, ignoreOrigins); diff != "" {
			t.Errorf("%q (-want +got):\n%s", src, diff)
		}
		if err := s.Validate(); err != nil {
			t.Errorf("%q: %v", src, err)
		}
	}
}

// The values of the load are read in all their forms.
func TestLoadValues(t *testing.T) {
	const ms = time.Millisecond
	for src, want := range map[string]workloads.Distribution{
		"5ms":                   workloads.Always(5 * ms),
		"0":                     {},
		"constant(5ms)":         workloads.Always(5 * ms),
		"exponential(5ms)":      {Kind: workloads.Exponential, Centre: 5 * ms},
		"uniform(1ms..9ms)":     {Kind: workloads.UniformOf, From: ms, To: 9 * ms},
		"log-normal(5ms, 0.5)":  {Kind: workloads.LogNormal, Centre: 5 * ms, Sigma: 0.5},
		`"log-normal(5ms,0.5)"`: {Kind: workloads.LogNormal, Centre: 5 * ms, Sigma: 0.5},
	} {
		if got := mustLoad(t, "hold: "+src).Hold; got != want {
			t.Errorf("hold: %s is %+v, want %+v", src, got, want)
		}
	}
	for src, want := range map[string]workloads.RatePlan{
		"100":           {Rates: []float64{100}},
		"0.5":           {Rates: []float64{0.5}},
		"0..400":        {Rates: []float64{0, 400}, Ramp: true},
		"100,200, 50.5": {Rates: []float64{100, 200, 50.5}},
	} {
		if got := mustLoad(t, "rate: "+src).Rate; !got.Equal(want) {
			t.Errorf("rate: %s is %+v, want %+v", src, got, want)
		}
	}
	if got := mustLoad(t, "lock-choice: zipf(0.99)").LockChoice.Zipf; got != 0.99 {
		t.Errorf("zipf(0.99) is %v", got)
	}
}

func TestExpected(t *testing.T) {
	s := mustLoad(t, "expect: {effect: fail}")
	for check, want := range map[string]string{"effect": "fail", "tokens": "pass", "fairness": "pass"} {
		if got := s.Expected(check); got != want {
			t.Errorf("%s: %s, want %s", check, got, want)
		}
	}
	s.Recipe = lock.NaiveMutex // wakes all waiters and promises no order
	if got := s.Expected(evidence.Fairness); got != scenario.ExpectAny {
		t.Errorf("fairness of the naive mutex: %s, want any", got)
	}
}

// Records and files with keys that there are no more are read as long as they say what every run does today, and
// records are read whatever they say.
func TestRetiredKeys(t *testing.T) {
	for text, today := range map[string]bool{"init-limit: 20": true, "init-limit: 30": false, "sequence-left: 9": false,
		"workload: read-write\nread-burst: 500ms every 5s": false} {
		_, err := scenario.Load("f.yaml", []byte("clients: 4\n"+text))
		if (err == nil) != today || err != nil && !strings.Contains(err.Error(), " any more (drop it)") {
			t.Errorf("%s in a file: %v", text, err)
		}
		if sc, err := scenario.LoadRecord("scenario.yaml", []byte("clients: 4\n"+text)); err != nil || sc.Clients != 4 {
			t.Errorf("%s in a record: %v", text, err)
		}
	}
}
