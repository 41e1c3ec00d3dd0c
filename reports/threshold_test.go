package reports

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"locklab/harness/check"
)

// settings are numbers in result.json that nothing measured.
var settings = []string{"schema_version", "seed", "servers", "clients", "client_processes", "locks", "session_timeout", "tick"}

// The names of thresholds are paths in result.json, all of those that lead to a number that was measured.
func TestMetricsAreThePathsOfTheResult(t *testing.T) {
	r := fixedInput().Result
	r.Latency.AcquireRead, r.Latency.AcquireWrite, r.Latency.Arrival, r.Latency.Service = &Latency{}, &Latency{}, &Latency{}, &Latency{} // so that there is something to walk
	r.Hiccups, r.Sharing = &Hiccups{}, &Sharing{Rounds: []Round{}}
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var tree map[string]any
	if err := json.Unmarshal(b, &tree); err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, below := range v {
				walk(strings.TrimPrefix(path+"."+k, "."), below)
			}
		case float64, nil: // what is null would be a number
			for _, block := range [...]string{"latency.", "throughput.", "safety."} {
				path = strings.TrimPrefix(path, block)
			}
			want[strings.TrimSuffix(path, "_ns")] = strings.HasSuffix(path, "_ns")
		}
	}
	walk("", tree)
	for _, name := range settings {
		if _, ok := want[name]; !ok {
			t.Errorf("no setting %s in result.json", name)
		}
		delete(want, name)
	}
	for _, m := range Metrics() {
		duration, ok := want[m.Name]
		if !ok || duration != m.Duration {
			t.Errorf("%s (a duration: %t) is no path in result.json, or there twice", m.Name, m.Duration)
		}
		delete(want, m.Name)
	}
	for name := range want {
		t.Errorf("no metric %s", name)
	}
	// Those of the contract.
	for _, name := range []string{"acquire.p99", "acquired_per_s", "overlaps", "fairness.jain", "handoff.p50", "operations.failed", "server.requests_per_acquire"} {
		if _, ok := metricNamed(name); !ok {
			t.Errorf("no metric %s", name)
		}
	}
}

// What is from 0 to 1 says so, and is: the extremes of fairness are its ends.
func TestSharesAreFrom0To1(t *testing.T) {
	var shares []string
	for _, m := range Metrics() {
		if m.Share {
			shares = append(shares, m.Name)
		}
	}
	if want := []string{"fairness.jain", "fairness.gini"}; !slices.Equal(shares, want) {
		t.Errorf("shares are %v, want %v", shares, want)
	}
	even, uneven := []int64{7, 7, 7}, []int64{0, 0, 0, 9}
	for _, x := range [][]int64{even, uneven} {
		for _, v := range []float64{jain(x), gini(x)} {
			if v < 0 || v > 1 {
				t.Errorf("%v: %v", x, v)
			}
		}
	}
}

func measured() Result {
	r := fixedInput().Result
	r.Latency.Acquire = Latency{Count: 50, P50Ns: new(ms(3)), P90Ns: new(ms(20)), MaxNs: new(ms(71.2))}
	r.Latency.Release = Latency{}
	r.Throughput.AcquiredPerS = new(400.0)
	r.Fairness.Jain = new(math.NaN())
	r.Fairness.Gini = new(math.Inf(1))
	r.Safety.DoubleGrants = nil
	r.Hiccups = &Hiccups{Samples: 1000, P99Ns: new(ms(1))}
	return r
}

func TestJudgeThreshold(t *testing.T) {
	for _, c := range []struct {
		metric, op string
		limit      float64
		want       check.Result
		value      string
		reason     string
	}{
		{"acquire.p90", "<", float64(ms(21)), check.Pass, "20 ms", ""},
		{"acquire.p90", "<", float64(ms(20)), check.Fail, "20 ms", "it came to 20 ms"},
		{"acquire.p90", "<=", float64(ms(20)), check.Pass, "20 ms", ""},
		{"acquire.p90", ">", float64(ms(20)), check.Fail, "20 ms", "it came to 20 ms"},
		{"acquire.p90", ">=", float64(ms(20)), check.Pass, "20 ms", ""},
		{"acquire.p90", "==", float64(ms(20)), check.Pass, "20 ms", ""},
		{"acquire.p90", "!=", float64(ms(20)), check.Fail, "20 ms", "it came to 20 ms"},
		{"overlaps", "==", 0, check.Fail, "1", "it came to 1"},
		{"overlaps", ">=", 1, check.Pass, "1", ""},
		{"acquired_per_s", ">", 400, check.Fail, "400", "it came to 400"},
		{"acquire.count", ">=", 50, check.Pass, "50", ""},

		// Never a pass: what is not there, or says nothing.
		{"acquire.p99", "<", float64(ms(1e6)), check.Unknown, "n/a", "too few samples for it: 50"},
		{"release.p50", "<", float64(ms(1e6)), check.Unknown, "n/a", "there are no samples of it"},
		{"release.recording_errors", "==", 0, check.Unknown, "0", "there are no samples of it"},
		{"acquire_read.p50", "<", float64(ms(1e6)), check.Unknown, "n/a", "it was not measured"},
		{"double_grants", "==", 0, check.Unknown, "n/a", "it was not measured"},
		{"fairness.jain", "!=", 0.5, check.Unknown, "n/a", "it came out as NaN"},
		{"fairness.gini", ">", 0.5, check.Unknown, "n/a", "it came out as +Inf"},
		{"acquire.p98", "<", float64(ms(1e6)), check.Unknown, "n/a", "there is no such number in result.json"},
		{"warnings", "==", 0, check.Unknown, "n/a", "there is no such number in result.json"},
		{"overlaps", "=~", 1, check.Unknown, "1", `there is no comparison "=~"`},
	} {
		r := measured()
		l := r.judgeThreshold(Threshold{"as written", c.metric, c.op, c.limit})
		if l.Verdict != c.want || l.Shown() != c.value || l.Reason != c.reason || l.Expr != "as written" {
			t.Errorf("%s %s %g: %+v (%s), want %s (%s), reason %q", c.metric, c.op, c.limit, l, l.Shown(), c.want, c.value, c.reason)
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
		l := r.judgeThreshold(Threshold{Metric: metric, Op: "<", Limit: 100})
		if l.Reason != reason || (l.Verdict == check.Pass) != (reason == "") || l.Verdict == check.Fail {
			t.Errorf("want %q: %+v", reason, l)
		}
	}
}

// Of a latency in a run that does not know its hiccups nobody can say whose it is; what is no
// latency does not mind.
func TestLatencyWithoutHiccupsIsUnknown(t *testing.T) {
	for reason, h := range map[string]*Hiccups{"no client process measured its hiccups": nil, "too few samples of the hiccups that it may be below: 99": {Samples: 99}} {
		r := measured()
		r.Hiccups = h
		if l := r.judgeThreshold(Threshold{Metric: "acquire.p90", Op: "<", Limit: float64(ms(21))}); l.Verdict != check.Unknown || l.Reason != reason {
			t.Errorf("%+v, want unknown: %s", l, reason)
		}
		if l := r.judgeThreshold(Threshold{Metric: "acquired_per_s", Op: ">", Limit: 1}); l.Verdict != check.Pass {
			t.Errorf("a rate: %+v", l)
		}
	}
}

// A violation goes before what is unknown, and that before a threshold that was missed.
func TestOverallVerdict(t *testing.T) {
	met, missed, unknown := ThresholdLine{Verdict: check.Pass}, ThresholdLine{Verdict: check.Fail}, ThresholdLine{Verdict: check.Unknown}
	for _, c := range []struct {
		checks     check.Result
		thresholds []ThresholdLine
		want       check.Result
	}{
		{check.Pass, nil, check.Pass},
		{check.Pass, []ThresholdLine{met, met}, check.Pass},
		{check.Pass, []ThresholdLine{met, missed}, check.Fail},
		{check.Pass, []ThresholdLine{missed, unknown}, check.Unknown},
		{check.Pass, []ThresholdLine{unknown, missed}, check.Unknown},
		{check.Pass, []ThresholdLine{{}}, check.Unknown}, // of no verdict at all
		{check.Unknown, []ThresholdLine{missed}, check.Unknown},
		{check.Unknown, []ThresholdLine{met}, check.Unknown},
		{check.Fail, []ThresholdLine{unknown}, check.Fail},
		{check.Fail, []ThresholdLine{met}, check.Fail},
	} {
		if got := overall(c.checks, c.thresholds); got != c.want {
			t.Errorf("checks %s, thresholds %v: %s, want %s", c.checks, c.thresholds, got, c.want)
		}
	}
}

// What became of thresholds stands in the result, in the headline and on the page.
func TestThresholdsAreShown(t *testing.T) {
	in := fixedInput()
	in.Meta.Thresholds = []Threshold{
		{"overlaps == 1", "overlaps", "==", 1}, {"lost_updates == 0", "lost_updates", "==", 0}, {"stale_accepted == 0", "stale_accepted", "==", 0},
	}
	in.Result = Summarize(in.Events, in.Acquisitions, in.Report, in.Meta)
	if in.Result.Verdict != check.Fail || len(in.Result.Thresholds) != 3 {
		t.Errorf("%s, %+v", in.Result.Verdict, in.Result.Thresholds)
	}
	if want := "Missed: lost_updates == 0, as it came to 1 (and one threshold more)."; !strings.Contains(in.Result.Headline, want) {
		t.Errorf("no %q in %q", want, in.Result.Headline)
	}
	var b bytes.Buffer
	if err := writePage(&b, in, nil); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<h2>Thresholds</h2>", "Every check came out as this scenario expects, but a threshold was missed.",
		`<td>overlaps == 1</td><td class="n">1</td><td class="pass">yes</td><td></td>`,
		`<td>lost_updates == 0</td><td class="n">1</td><td class="fail">no</td><td>it came to 1</td>`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s on the page", want)
		}
	}

	in.Meta.Thresholds[0].Metric = "overlap"
	in.Result = Summarize(in.Events, in.Acquisitions, in.Report, in.Meta)
	if want := "Unknown whether overlaps == 1: there is no such number in result.json."; in.Result.Verdict != check.Unknown || !strings.Contains(in.Result.Headline, want) {
		t.Errorf("%s; no %q in %q", in.Result.Verdict, want, in.Result.Headline)
	}
}
