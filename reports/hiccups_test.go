package reports

import (
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/harness/hiccups"
	"locklab/harness/history"
)

// metered is a window of 10 s in which c1, c2 and the harness measured: 99 sleeps of c1 were too
// long by 100 µs, 900 of c2 by 50 µs, and 2,000 of the harness by 3 ms.
func metered(t *testing.T, more ...history.Event) []history.Event {
	t.Helper()
	events := []history.Event{{At: 0, Process: "harness", Op: history.OpPhase, Detail: history.PhaseMeasure}}
	for process, s := range map[string]struct {
		n    int64
		over time.Duration
	}{"c1": {99, 100 * time.Microsecond}, "c2": {900, 50 * time.Microsecond}, harnessProcess: {2000, 3 * time.Millisecond}} {
		h := hiccups.New()
		if err := h.RecordValues(int64(s.over), s.n); err != nil {
			t.Fatal(err)
		}
		text, err := hiccups.Encode(h)
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, history.Event{At: ms(10_000), Process: process, Op: history.OpHiccups, Value: s.n, Detail: text})
	}
	events = append(events, more...)
	return append(events, history.Event{At: ms(10_000), Process: "harness", Op: history.OpPhase, Detail: history.PhaseDrain})
}

func hiccup(process string, at, over int64) history.Event {
	return history.Event{At: at, Process: process, Op: history.OpHiccup, Value: over}
}

func agentSaid(process string, at int64, mode string) history.Event {
	return history.Event{At: at, Process: process, Op: history.OpProcess, Mode: mode}
}

func measuredHiccups(t *testing.T, events []history.Event) *Hiccups {
	t.Helper()
	h, warnings := measureHiccups(events, measuredWindow(events))
	if len(warnings) > 0 {
		t.Errorf("warnings %q", warnings)
	}
	return h
}

// All clients' processes count as one, the long ones by events of their own; the harness is apart, unless there is nobody else.
func TestHiccupsMerge(t *testing.T) {
	h := measuredHiccups(t, metered(t, hiccup("c1", ms(5000), ms(200))))
	if h == nil || h.Samples != 1000 || *h.P50Ns > 51_000 || *h.P50Ns < 49_000 || *h.MaxNs != ms(200) {
		t.Fatalf("got %+v", h)
	}
	if c1 := h.Processes["c1"]; c1.Samples != 100 || *c1.MaxNs != ms(200) {
		t.Errorf("c1 %+v", c1)
	}
	if own := h.Processes[harnessProcess]; own.Samples != 2000 || *own.P50Ns < ms(2) {
		t.Errorf("harness %+v", own)
	}
	alone := slices.DeleteFunc(metered(t), func(e history.Event) bool { return e.Process != harnessProcess })
	if h := measuredHiccups(t, alone); h == nil || h.Samples != 2000 {
		t.Errorf("of the harness alone: %+v", h)
	}
	if none := measuredHiccups(t, nil); none != nil {
		t.Errorf("hiccups of a run that measured none: %+v", none)
	}
}

// The overshoot of a sleep in which a fault stopped the process is the fault's; that of
// another process, or beside the stop, is the machine's.
func TestHiccupsLeaveOutStops(t *testing.T) {
	for name, c := range map[string]struct {
		events []history.Event
		max    int64 // of c1
	}{
		"across a stop":                {[]history.Event{agentSaid("c1", ms(2000), history.ProcessStopped), agentSaid("c1", ms(4000), history.ProcessContinued), hiccup("c1", ms(4005), ms(2000))}, 100_000},
		"after a stop":                 {[]history.Event{agentSaid("c1", ms(2000), history.ProcessStopped), agentSaid("c1", ms(4000), history.ProcessContinued), hiccup("c1", ms(4100), ms(30))}, ms(30)},
		"of a process beside":          {[]history.Event{agentSaid("c2", ms(2000), history.ProcessStopped), agentSaid("c2", ms(4000), history.ProcessContinued), hiccup("c1", ms(4005), ms(2000))}, ms(2000)},
		"a stop that was never undone": {[]history.Event{agentSaid("c1", ms(2000), history.ProcessStopped), hiccup("c1", ms(4005), ms(2000))}, 100_000},
		"before the window":            {[]history.Event{hiccup("c1", -ms(1), ms(40))}, 100_000},
	} {
		t.Run(name, func(t *testing.T) {
			got := *measuredHiccups(t, metered(t, c.events...)).Processes["c1"].MaxNs
			if got < c.max || got > c.max+c.max/100 { // as fine as the distribution is
				t.Errorf("max %s, want %s", duration(got), duration(c.max))
			}
		})
	}
}

func TestHiccupsThatCannotBeRead(t *testing.T) {
	events := metered(t, history.Event{At: 1, Process: "c3", Op: history.OpHiccups, Detail: "???"})
	h, warnings := measureHiccups(events, measuredWindow(events))
	if len(warnings) != 1 || !strings.Contains(warnings[0], "c3") || h == nil || h.Samples != 999 {
		t.Errorf("%+v, warnings %q", h, warnings)
	}
}

func TestSupportedAboveHiccups(t *testing.T) {
	limit := ms(5)
	r := Result{Hiccups: &Hiccups{P99Ns: &limit}}
	for _, c := range []struct {
		path  string
		value float64
		want  bool
	}{
		{"latency.acquire.p99_ns", float64(ms(5)), true},
		{"latency.acquire.p99_ns", float64(ms(5) - 1), false},
		{"acquire.p99", float64(ms(4)), false},
		{"acquire_read.max", float64(ms(4)), false},
		{"hold.p50", float64(ms(1)), false},
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
	p50, p99 := ms(1), ms(9)
	r.Latency.Hold = Latency{P50Ns: &p50, P99Ns: &p99}
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
	meta := Meta{Clients: 4, Processes: 2}
	one := []history.Event{{Process: "c1", Op: history.OpResident, Value: 3000}}
	if n := residentPerClient(one, meta); n != nil {
		t.Errorf("%d from one of two processes", *n)
	}
	if n := residentPerClient(append(one, history.Event{Process: "c2", Op: history.OpResident, Value: 1000}), meta); n == nil || *n != 1000 {
		t.Errorf("got %v, want 1000", n)
	}
}
