package result

import (
	"bytes"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"

	"locklab/harness/check"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/reports/internal/synth"
	"locklab/reports/measure"
)

func TestHlogReadsBack(t *testing.T) {
	run, _ := synth.BusyRun(16, 3, false)
	var b bytes.Buffer
	if err := WriteHlog(&b, NewInput(run, check.Report{})); err != nil {
		t.Fatal(err)
	}
	w := measure.MeasuredWindow(run.Events)
	want := measure.Distributions(run.Events, w)
	r := hdrhistogram.NewHistogramLogReader(&b)
	seen := map[string]bool{}
	for {
		h, err := r.NextIntervalHistogram()
		if err != nil {
			t.Fatal(err)
		}
		if h == nil { // this is how the reader says that there are no more
			break
		}
		seen[h.Tag()] = true
		rec := want[h.Tag()]
		if h.TotalCount() != rec.Hist.TotalCount() || h.ValueAtPercentile(90) != rec.Hist.ValueAtPercentile(90) {
			t.Errorf("%s came back with %d values, p90 %d", h.Tag(), h.TotalCount(), h.ValueAtPercentile(90))
		}
		if h.StartTimeMs() != w.From/1e6 || h.EndTimeMs() != w.Until/1e6 {
			t.Errorf("%s came back from %d to %d ms, window is %v", h.Tag(), h.StartTimeMs(), h.EndTimeMs(), w)
		}
	}
	for _, phase := range measure.Phases {
		if seen[phase] == measure.OpenOnly(phase) { // this was a closed loop
			t.Errorf("interval of %s: %v", phase, seen[phase])
		}
	}
}

func TestHlogOfAnEmptyRun(t *testing.T) {
	var b bytes.Buffer
	if err := WriteHlog(&b, NewInput(rundir.Begun(&scenario.Scenario{}), check.Report{})); err != nil {
		t.Fatal(err)
	}
	if h, err := hdrhistogram.NewHistogramLogReader(&b).NextIntervalHistogram(); h != nil || err != nil {
		t.Errorf("got %v, %v", h, err)
	}
}

// The hiccups come back by process. The harness measures no latency, so its own are left out.
func TestHiccupsReadBack(t *testing.T) {
	run := synth.RunOf(metered(t, hiccup("c1", synth.Ms(5000), synth.Ms(200))), scenario.Scenario{})
	var b bytes.Buffer
	if err := WriteHiccups(&b, NewInput(run, check.Report{})); err != nil {
		t.Fatal(err)
	}
	r := hdrhistogram.NewHistogramLogReader(&b)
	samples := map[string]int64{}
	for {
		h, err := r.NextIntervalHistogram()
		if err != nil {
			t.Fatal(err)
		}
		if h == nil {
			break
		}
		samples[h.Tag()] = h.TotalCount()
		if got := h.EndTimeMs() - h.StartTimeMs(); got != 10_000 {
			t.Errorf("the interval of %s has %d ms, want 10,000", h.Tag(), got)
		}
	}
	if len(samples) != 2 || samples["c1"] != 100 || samples["c2"] != 900 {
		t.Errorf("samples %v, want 100 of c1 and 900 of c2", samples)
	}
}
