package result

import (
	"strings"
	"testing"
	"time"

	"locklab/harness/history"
	"locklab/harness/scenario"
	"locklab/reports/internal/synth"
	"locklab/reports/measure"
	"locklab/workloads"
)

// The time of a hold that goes to the resource is all of it but the work between read and write.
func TestResourceTimes(t *testing.T) {
	access := func(at float64, n int64, op history.Op, kind history.Kind) history.Event {
		return history.Event{At: synth.Ms(at), Client: "c1/0", Acq: n, Op: op, Kind: kind}
	}
	log := history.NewLog([]history.Event{
		// Granted at 10, worked from 12 to 17, released at 20: 5 of 10 ms.
		access(12, 1, history.OpRead, history.OK),
		access(17, 1, history.OpWrite, history.Invoke), access(19, 1, history.OpWrite, history.OK),
		// Two locks at once: the work begins with the last read and ends with the first write. 4 of 10 ms.
		access(31, 2, history.OpRead, history.OK), access(32, 2, history.OpRead, history.OK),
		access(38, 2, history.OpWrite, history.Invoke), access(39, 2, history.OpWrite, history.Invoke),
		// A reader, and a term that works twice, do not tell.
		access(52, 3, history.OpRead, history.OK), access(57, 3, history.OpRead, history.OK),
		access(71, 4, history.OpRead, history.OK), access(72, 4, history.OpWrite, history.Invoke),
		access(73, 4, history.OpRead, history.OK), access(74, 4, history.OpWrite, history.Invoke),
	})
	var acq []history.Acquisition
	for n, at := range []float64{10, 30, 50, 70} {
		a := synth.Grant("c1/0", at-2, at-1, at, at+10)
		a.N = int64(n + 1)
		acq = append(acq, a)
	}
	got := resourceTimes(log, acq, oneSecond)
	if got.Hist.TotalCount() != 2 || got.Min != synth.Ms(4) || got.Max != synth.Ms(5) {
		t.Errorf("%d times from %s to %s, want 2 of 4ms and 5ms", got.Hist.TotalCount(), time.Duration(got.Min),
			time.Duration(got.Max))
	}
}

// A hold that is longer than asked by more than a tenth and by more than a millisecond is told of.
func TestHoldsLonger(t *testing.T) {
	const ms = int64(time.Millisecond)
	exponential := workloads.Distribution{Kind: workloads.Exponential, Centre: 100 * time.Millisecond}
	for _, c := range []struct {
		name string
		hold workloads.Distribution
		got  int64
		want bool
	}{
		{"as asked", workloads.Always(5 * time.Millisecond), 5*ms + ms/2, false},
		{"by a tenth of 5 ms", workloads.Always(5 * time.Millisecond), 6 * ms, false},
		{"longer", workloads.Always(5 * time.Millisecond), 45 * ms, true},
		{"by less than a tenth", workloads.Always(time.Second), 1050 * ms, false},
		{"nothing is asked", workloads.Always(0), 45 * ms, false},
		{"the median of what is drawn", exponential, 75 * ms, false},
		{"more than it", exponential, 80 * ms, true},
	} {
		sc := scenario.Defaults()
		sc.Hold = c.hold
		r := Result{Latency: LatencyByPhase{Hold: measure.Latency{P50Ns: &c.got},
			HoldResource: &measure.Latency{P50Ns: new(3 * ms)}}}
		said := r.holdsLonger(sc)
		if (said != "") != c.want || c.want && !strings.Contains(said, "of which 3 ms were for the resource") {
			t.Errorf("%s: %q", c.name, said)
		}
	}
}
