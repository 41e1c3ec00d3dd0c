package result

import (
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/harness/hiccups"
	"locklab/harness/history"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/reports/internal/synth"
	"locklab/reports/measure"
	"locklab/reports/words"
)

// metered is a window of 10 s in which c1, c2 and the harness measured: 99 sleeps of c1 were too long by 100 µs, 900
// of c2 by 50 µs, and 2,000 of the harness by 3 ms.
func metered(t *testing.T, more ...history.Event) []history.Event {
	t.Helper()
	events := []history.Event{{At: 0, Process: "harness", Op: history.OpPhase, Detail: string(history.PhaseMeasure)}}
	for process, s := range map[string]struct {
		n    int64
		over time.Duration
	}{"c1": {99, 100 * time.Microsecond}, "c2": {900, 50 * time.Microsecond},
		rundir.HarnessHost: {2000, 3 * time.Millisecond}} {
		h := hiccups.New()
		if err := h.RecordValues(int64(s.over), s.n); err != nil {
			t.Fatal(err)
		}
		text, err := hiccups.Encode(h)
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, history.Event{At: synth.Ms(10_000), Process: process, Op: history.OpHiccups, Value: s.n,
			Detail: text})
	}
	events = append(events, more...)
	return append(events, history.Event{At: synth.Ms(10_000), Process: "harness", Op: history.OpPhase,
		Detail: string(history.PhaseDrain)})
}

func hiccup(process string, at, over int64) history.Event {
	return history.Event{At: at, Process: process, Op: history.OpHiccup, Value: over}
}

func agentSaid(process string, at int64, state history.ProcessState) history.Event {
	e := history.ProcessChange{State: state}.Event()
	e.At, e.Process = at, process
	return e
}

func measuredHiccups(t *testing.T, events []history.Event) *Hiccups {
	t.Helper()
	own, warnings := hiccupsOf(history.NewLog(events), measure.MeasuredWindow(history.NewLog(events)))
	if len(warnings) > 0 {
		t.Errorf("warnings %q", warnings)
	}
	return summaryOf(own)
}

// All clients' processes count as one, the long ones by events of their own; the harness is apart, unless there is
// nobody else.
func TestHiccupsMerge(t *testing.T) {
	h := measuredHiccups(t, metered(t, hiccup("c1", synth.Ms(5000), synth.Ms(200))))
	if h == nil || h.Samples != 1000 || *h.P50Ns > 51_000 || *h.P50Ns < 49_000 || *h.MaxNs != synth.Ms(200) {
		t.Fatalf("got %+v", h)
	}
	if c1 := h.Processes["c1"]; c1.Samples != 100 || *c1.MaxNs != synth.Ms(200) {
		t.Errorf("c1 %+v", c1)
	}
	if own := h.Processes[rundir.HarnessHost]; own.Samples != 2000 || *own.P50Ns < synth.Ms(2) {
		t.Errorf("harness %+v", own)
	}
	alone := slices.DeleteFunc(metered(t), func(e history.Event) bool { return e.Process != rundir.HarnessHost })
	if h := measuredHiccups(t, alone); h == nil || h.Samples != 2000 {
		t.Errorf("of the harness alone: %+v", h)
	}
	if none := measuredHiccups(t, nil); none != nil {
		t.Errorf("hiccups of a run that measured none: %+v", none)
	}
}

// The overshoot of a sleep in which a fault stopped the process is the fault's; that of another process, or beside
// the stop, is the machine's.
func TestHiccupsLeaveOutStops(t *testing.T) {
	for name, c := range map[string]struct {
		events []history.Event
		max    int64 // of c1
	}{
		"across a stop": {[]history.Event{agentSaid("c1", synth.Ms(2000), history.ProcessStopped),
			agentSaid("c1", synth.Ms(4000), history.ProcessContinued), hiccup("c1", synth.Ms(4005), synth.Ms(2000))}, 100_000},
		"after a stop": {[]history.Event{agentSaid("c1", synth.Ms(2000), history.ProcessStopped),
			agentSaid("c1", synth.Ms(4000), history.ProcessContinued), hiccup("c1", synth.Ms(4100), synth.Ms(30))},
			synth.Ms(30)},
		"of a process beside": {[]history.Event{agentSaid("c2", synth.Ms(2000), history.ProcessStopped),
			agentSaid("c2", synth.Ms(4000), history.ProcessContinued), hiccup("c1", synth.Ms(4005), synth.Ms(2000))},
			synth.Ms(2000)},
		"a stop that was never undone": {[]history.Event{agentSaid("c1", synth.Ms(2000), history.ProcessStopped),
			hiccup("c1", synth.Ms(4005), synth.Ms(2000))}, 100_000},
		"before the window": {[]history.Event{hiccup("c1", -synth.Ms(1), synth.Ms(40))}, 100_000},
	} {
		t.Run(name, func(t *testing.T) {
			got := *measuredHiccups(t, metered(t, c.events...)).Processes["c1"].MaxNs
			if got < c.max || got > c.max+c.max/100 { // as fine as the distribution is
				t.Errorf("max %s, want %s", words.Duration(got), words.Duration(c.max))
			}
		})
	}
}

func TestHiccupsThatCannotBeRead(t *testing.T) {
	events := metered(t, history.Event{At: 1, Process: "c3", Op: history.OpHiccups, Detail: "???"})
	own, warnings := hiccupsOf(history.NewLog(events), measure.MeasuredWindow(history.NewLog(events)))
	h := summaryOf(own)
	if len(warnings) != 1 || !strings.Contains(warnings[0], "c3") || h == nil || h.Samples != 999 {
		t.Errorf("%+v, warnings %q", h, warnings)
	}
}

func TestSupportedAboveHiccups(t *testing.T) {
	limit := synth.Ms(5)
	r := Result{Hiccups: &Hiccups{P99Ns: &limit}}
	for _, c := range []struct {
		path  string
		value float64
		want  bool
	}{
		{"latency.acquire.p99_ns", float64(synth.Ms(5)), true},
		{"latency.acquire.p99_ns", float64(synth.Ms(5) - 1), false},
		{"acquire.p99", float64(synth.Ms(4)), false},
		{"acquire_read.max", float64(synth.Ms(4)), false},
		{"hold.p50", float64(synth.Ms(1)), false},
		{"acquire.count", 3, true},
		{"acquired_per_s", 3, true},
		{"fairness.jain", 1, true},
		{"handoff", 1, true},
	} {
		ok, why := r.Supported(c.path, c.value)
		if ok != c.want || ok != (why == "") {
			t.Errorf("%s = %g: %v %q, want %v", c.path, c.value, ok, why, c.want)
		}
	}
	if ok, _ := (&Result{}).Supported("acquire.p50", 1); !ok {
		t.Error("unsupported though nothing is known of hiccups")
	}
	p50, p99 := synth.Ms(1), synth.Ms(9)
	r.Latency.Hold = measure.Latency{P50Ns: &p50, P99Ns: &p99}
	r.noteUnsupported()
	if !slices.Equal(r.Hiccups.Unsupported, []string{"latency.hold.p50_ns"}) {
		t.Errorf("unsupported %q", r.Hiccups.Unsupported)
	}
	if want := "below the hiccups' p99 of 5 ms, and so not supported: hold p50"; r.Hiccups.Note() != want {
		t.Errorf("note %q, want %q", r.Hiccups.Note(), want)
	}
}

// Memory is known of all client processes or of none.
func TestResidentPerClient(t *testing.T) {
	sc := &scenario.Scenario{Clients: 4, ClientProcesses: 2}
	one := []history.Event{{Process: "c1", Op: history.OpResident, Value: 3000}}
	if n := residentPerClient(&rundir.Run{Scenario: sc, Events: history.NewLog(one)}); n != nil {
		t.Errorf("%d from one of two processes", *n)
	}
	both := append(one, history.Event{Process: "c2", Op: history.OpResident, Value: 1000})
	if n := residentPerClient(&rundir.Run{Scenario: sc, Events: history.NewLog(both)}); n == nil || *n != 1000 {
		t.Errorf("got %v, want 1000", n)
	}
}
