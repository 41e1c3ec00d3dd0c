package result

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"locklab/harness/check/evidence"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/reports/internal/synth"
	"locklab/reports/measure"
)

// settings are numbers in result.json that nothing measured.
var settings = []string{"schema_version", "length_ns", "seed", "servers", "clients", "client_processes", "locks",
	"session_timeout_ns", "tick_ns", "checks_total"}

// The catalogue has every number in result.json that is measured, at its path and in its unit. Its others are
// computed from them.
func TestCatalogueIsTheResult(t *testing.T) {
	r := NewInput(synth.JudgedRun()).Result
	// Blocks that are null leave nothing to walk.
	r.Latency.AcquireRead, r.Latency.AcquireWrite = &measure.Latency{}, &measure.Latency{}
	r.Latency.Arrival, r.Latency.Service = &measure.Latency{}, &measure.Latency{}
	r.Hiccups, r.Sharing = &Hiccups{}, &measure.Sharing{Rounds: []measure.Round{}}
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var tree map[string]any
	if err := json.Unmarshal(b, &tree); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{} // numbers by path
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, below := range v {
				walk(strings.TrimPrefix(path+"."+k, "."), below)
			}
		case float64, nil: // what is null would be a number
			want[path] = v
		}
	}
	walk("", tree)
	for _, name := range settings {
		if _, ok := want[name]; !ok {
			t.Errorf("no setting %s in result.json", name)
		}
		delete(want, name)
	}
	for _, q := range Quantities() {
		number, ok := want[q.Path]
		switch v := q.Value(&r); {
		case q.Of != nil:
			continue
		case !ok:
			t.Errorf("%s is no path in result.json, or there twice", q.Path)
		case (v == nil) != (number == nil) || v != nil && *v != number:
			t.Errorf("%s is %v, and %v in result.json", q.Path, q.Show(v), number)
		case strings.HasSuffix(q.Path, "_ns") != (q.Unit == Nanoseconds):
			t.Errorf("%s is in unit %v", q.Path, q.Unit)
		}
		delete(want, q.Path)
	}
	for path := range want {
		t.Errorf("the catalogue lacks %s", path)
	}
}

// A threshold on any quantity is missed if its number is what the threshold forbids, and met if it is not.
func TestEveryThresholdCanBeMissed(t *testing.T) {
	judged := NewInput(synth.JudgedRun()).Result
	b, err := json.Marshal(judged)
	if err != nil {
		t.Fatal(err)
	}
	var tree map[string]any
	if err := json.Unmarshal(b, &tree); err != nil {
		t.Fatal(err)
	}
	for _, q := range Quantities() {
		if q.Of != nil || q.Measure != nil && q.Value(&judged) != nil {
			continue // made of the others, or measured
		}
		n := 5000 // samples are enough for every percentile
		switch {
		case q.Unit == Share:
			n = 1
		case q.Unit == Nanoseconds && !strings.HasPrefix(q.Path, "hiccups."):
			n = 5e9 // more than the machine's own delays
		}
		at, last := tree, ""
		for part := range strings.SplitSeq(q.Path, ".") {
			if last != "" {
				below, _ := at[last].(map[string]any)
				if below == nil {
					below = map[string]any{}
					at[last] = below
				}
				at = below
			}
			last = part
		}
		at[last] = n
	}
	var r Result
	if b, err = json.Marshal(tree); err == nil {
		err = json.Unmarshal(b, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range Quantities() {
		v := q.Value(&r)
		if v == nil {
			t.Errorf("%s has no number", q.Name())
			continue
		}
		for op, want := range map[string]evidence.Result{"<": evidence.Fail, "<=": evidence.Pass, "!=": evidence.Fail} {
			l := r.judgeThreshold(scenario.Threshold{Metric: q.Name(), Op: op, Limit: *v})
			if l.Verdict != want {
				t.Errorf("%s %s %g is %s (%s), want %s", q.Name(), op, *v, l.Verdict, l.Reason, want)
			}
		}
	}
}

// Quantities are found by the names of the contract, and by their paths.
func TestNamed(t *testing.T) {
	for name, path := range map[string]string{"acquire.p99": "latency.acquire.p99_ns",
		"acquired_per_s": "throughput.acquired_per_s",
		"overlaps":       "safety.overlaps", "fairness.jain": "fairness.jain", "handoff.p50": "latency.handoff.p50_ns",
		"operations.failed": "operations.failed", "server.requests_per_acquire": "server.requests_per_acquire"} {
		for _, n := range []string{name, path} {
			if q, ok := Named(n); !ok || q.Path != path || q.Name() != name {
				t.Errorf("%s is %s (%s), %t", n, q.Name(), q.Path, ok)
			}
		}
	}
	for _, name := range []string{"", "acquire", "warnings", "seed", "latency", "p99"} {
		if q, ok := Named(name); ok {
			t.Errorf("%q is %s", name, q.Path)
		}
	}
}

// A quantity without a field of its own is measured, kept in result.json, and read from there again.
func TestMeasuredQuantity(t *testing.T) {
	q := named([]Quantity{{Path: "quantities.longest_hold_ns", Unit: Nanoseconds,
		Measure: func(run *rundir.Run, w measure.Interval) *float64 {
			return new(float64(len(run.Acquisitions)))
		}}})[0]
	defer func(was []Quantity) { catalogue = was }(catalogue)
	catalogue = append(slices.Clone(catalogue), q)
	run, rep := synth.JudgedRun()
	r := NewInput(run, rep).Result
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var read Result
	if err := json.Unmarshal(b, &read); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"longest_hold", "quantities.longest_hold_ns"} {
		if q, ok := Named(name); !ok || q.Value(&read) == nil || *q.Value(&read) != float64(len(run.Acquisitions)) {
			t.Errorf("%s: %v in %s", name, q.Value(&read), b)
		}
	}
	l := read.judgeThreshold(scenario.Threshold{Metric: "longest_hold", Op: "<", Limit: 1})
	if l.Verdict != evidence.Fail || l.Unit != "ns" {
		t.Errorf("%+v", l)
	}
}

// Shares are from 0 to 1: the extremes of fairness are the ends of that range.
func TestSharesAreFrom0To1(t *testing.T) {
	var shares []string
	for _, m := range Metrics() {
		if m.Share {
			shares = append(shares, m.Name)
		}
	}
	if want := []string{"operations.not_acquired_share", "fairness.jain", "fairness.gini", "fsync_share_least",
		"fsync_share_most", "held_share", "handoff_share"}; !slices.Equal(shares, want) {
		t.Errorf("shares are %v, want %v", shares, want)
	}
	even, uneven := []int64{7, 7, 7}, []int64{0, 0, 0, 9}
	for _, x := range [][]int64{even, uneven} {
		for _, v := range []float64{measure.Jain(x), measure.Gini(x)} {
			if v < 0 || v > 1 {
				t.Errorf("%v: %v", x, v)
			}
		}
	}
}

func measured() Result {
	r := NewInput(synth.JudgedRun()).Result
	r.Latency.Acquire = measure.Latency{Count: 50, P50Ns: new(synth.Ms(3)), P90Ns: new(synth.Ms(20)),
		MaxNs: new(synth.Ms(71.2))}
	r.Latency.Release = measure.Latency{}
	r.Throughput.AcquiredPerS = new(400.0)
	r.Fairness.Jain = new(math.NaN())
	r.Fairness.Gini = new(math.Inf(1))
	r.Safety.UnbackedGrants = nil
	r.Hiccups = &Hiccups{Samples: 1000, P99Ns: new(synth.Ms(1))}
	return r
}

func TestJudgeThreshold(t *testing.T) {
	for _, c := range []struct {
		metric, op string
		limit      float64
		want       evidence.Result
		value      string
		reason     string
	}{
		{"acquire.p90", "<", float64(synth.Ms(21)), evidence.Pass, "20 ms", ""},
		{"acquire.p90", "<", float64(synth.Ms(20)), evidence.Fail, "20 ms", "it came to 20 ms"},
		{"acquire.p90", "<=", float64(synth.Ms(20)), evidence.Pass, "20 ms", ""},
		{"acquire.p90", ">", float64(synth.Ms(20)), evidence.Fail, "20 ms", "it came to 20 ms"},
		{"acquire.p90", ">=", float64(synth.Ms(20)), evidence.Pass, "20 ms", ""},
		{"acquire.p90", "==", float64(synth.Ms(20)), evidence.Pass, "20 ms", ""},
		{"acquire.p90", "!=", float64(synth.Ms(20)), evidence.Fail, "20 ms", "it came to 20 ms"},
		{"overlaps", "==", 0, evidence.Fail, "1", "it came to 1"},
		{"overlaps", ">=", 1, evidence.Pass, "1", ""},
		{"acquired_per_s", ">", 400, evidence.Fail, "400", "it came to 400"},
		{"acquire.count", ">=", 50, evidence.Pass, "50", ""},

		// A number that is missing, or that proves nothing, is never a pass.
		{"acquire.p99", "<", float64(synth.Ms(1e6)), evidence.Unknown, "n/a", "too few samples for it: 50"},
		{"release.p50", "<", float64(synth.Ms(1e6)), evidence.Unknown, "n/a", "there are no samples of it"},
		{"release.recording_errors", "==", 0, evidence.Unknown, "0", "there are no samples of it"},
		{"acquire_read.p50", "<", float64(synth.Ms(1e6)), evidence.Unknown, "n/a", "it was not measured"},
		{"unbacked_grants", "==", 0, evidence.Unknown, "n/a", "it was not measured"},
		{"fairness.jain", "!=", 0.5, evidence.Unknown, "n/a", "it came out as NaN"},
		{"fairness.gini", ">", 0.5, evidence.Unknown, "n/a", "it came out as +Inf"},
		{"acquire.p98", "<", float64(synth.Ms(1e6)), evidence.Unknown, "n/a", "there is no such number in result.json"},
		{"warnings", "==", 0, evidence.Unknown, "n/a", "there is no such number in result.json"},
		{"overlaps", "=~", 1, evidence.Unknown, "1", `there is no comparison "=~"`},
	} {
		r := measured()
		limit := scenario.Threshold{Metric: c.metric, Op: c.op, Limit: c.limit}
		l := r.judgeThreshold(limit)
		if l.Verdict != c.want || l.Shown() != c.value || l.Reason != c.reason || l.Expr != limit.String() {
			t.Errorf("%s %s %g: %+v (%s), want %s (%s), reason %q", c.metric, c.op, c.limit, l, l.Shown(), c.want, c.value,
				c.reason)
		}
	}
}

func TestDoubtsAreUnknown(t *testing.T) {
	for reason, spoil := range map[string]func(*Result){
		"the run broke off before its end":            func(r *Result) { r.Partial = true },
		"nothing was acquired in the measured window": func(r *Result) { r.Operations.Acquired = 0 },
		"":                    func(*Result) {},
		"it was not measured": func(r *Result) { r.Safety.Overlaps = nil },
		"the run never reached its measured window": func(r *Result) { r.Safety.Overlaps, r.Window = nil, Window{} },
		"there is no such number in result.json":    nil,
	} {
		r, metric := measured(), "overlaps"
		if spoil == nil {
			metric = "overlap"
		} else {
			spoil(&r)
		}
		l := r.judgeThreshold(scenario.Threshold{Metric: metric, Op: "<", Limit: 100})
		if l.Reason != reason || (l.Verdict == evidence.Pass) != (reason == "") || l.Verdict == evidence.Fail {
			t.Errorf("want %q: %+v", reason, l)
		}
	}
}

// Without hiccups it is not known whether a latency is the machine's. Other numbers do not need them.
func TestLatencyWithoutHiccupsIsUnknown(t *testing.T) {
	for reason, h := range map[string]*Hiccups{"no client process measured its hiccups": nil,
		"too few samples of the hiccups that it may be below: 99": {Samples: 99}} {
		r := measured()
		r.Hiccups = h
		if l := r.judgeThreshold(scenario.Threshold{Metric: "acquire.p90", Op: "<",
			Limit: float64(synth.Ms(21))}); l.Verdict != evidence.Unknown || l.Reason != reason {
			t.Errorf("%+v, want unknown: %s", l, reason)
		}
		limit := scenario.Threshold{Metric: "acquired_per_s", Op: ">", Limit: 1}
		if l := r.judgeThreshold(limit); l.Verdict != evidence.Pass {
			t.Errorf("a rate: %+v", l)
		}
	}
}

// A violation comes before unknown, and unknown before a missed threshold.
func TestOverallVerdict(t *testing.T) {
	met, missed, unknown := ThresholdLine{Verdict: evidence.Pass}, ThresholdLine{Verdict: evidence.Fail},
		ThresholdLine{Verdict: evidence.Unknown}
	for _, c := range []struct {
		checks     evidence.Result
		thresholds []ThresholdLine
		want       evidence.Result
	}{
		{evidence.Pass, nil, evidence.Pass},
		{evidence.Pass, []ThresholdLine{met, met}, evidence.Pass},
		{evidence.Pass, []ThresholdLine{met, missed}, evidence.Fail},
		{evidence.Pass, []ThresholdLine{missed, unknown}, evidence.Unknown},
		{evidence.Pass, []ThresholdLine{unknown, missed}, evidence.Unknown},
		{evidence.Pass, []ThresholdLine{{}}, evidence.Unknown}, // of no verdict at all
		{evidence.Unknown, []ThresholdLine{missed}, evidence.Unknown},
		{evidence.Unknown, []ThresholdLine{met}, evidence.Unknown},
		{evidence.Fail, []ThresholdLine{unknown}, evidence.Fail},
		{evidence.Fail, []ThresholdLine{met}, evidence.Fail},
	} {
		if got := overall(c.checks, c.thresholds); got != c.want {
			t.Errorf("checks %s, thresholds %v: %s, want %s", c.checks, c.thresholds, got, c.want)
		}
	}
}
