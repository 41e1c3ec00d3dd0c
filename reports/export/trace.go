package export

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"

	"locklab/harness/check/spans"
	"locklab/harness/history"
	"locklab/reports/measure"
	"locklab/reports/result"
)

var traceFormat = Format{Name: "trace", Has: "waits, holds, faults, stops of processes, phases, findings",
	For:    "Perfetto, chrome://tracing (Trace Event Format, JSON)",
	Reader: "one of its own, by the format’s document", write: writeTrace}

// A traceEvent is an event of the Trace Event Format
// (https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU). Ts and Dur are in µs.
type traceEvent struct {
	Name  string         `json:"name"`
	Cat   string         `json:"cat,omitempty"`
	Phase string         `json:"ph"`
	Ts    float64        `json:"ts"`
	Dur   *float64       `json:"dur,omitempty"`
	Pid   int            `json:"pid"`
	Tid   int            `json:"tid"`
	Scope string         `json:"s,omitempty"` // of an instant: g = it is drawn across all threads
	Args  map[string]any `json:"args,omitempty"`
}

// The processes and threads of a trace that are not those of clients.
const (
	traceRun    = 0 // process: faults and phases
	tracePhases = 0 // thread of traceRun
	traceWhole  = 0 // thread of a process of clients: the process itself
)

// A tracer writes the events of a trace and numbers processes and threads, in the order of their names. A thread is a
// client in its dealings with one lock, so that its events follow each other, as the format demands.
type tracer struct {
	w         io.Writer
	err       error
	n         int
	processes map[string]int
	threads   map[[2]string]int // by client and lock
}

// writeTrace writes what clients and faults did as a trace. Times are those of the run.
func writeTrace(w io.Writer, in result.Input) error {
	t := tracer{w: w, processes: map[string]int{}, threads: map[[2]string]int{}}
	t.print(`{"displayTimeUnit":"ms","otherData":` + encoded(map[string]any{"scenario": in.Result.Scenario,
		"partial": in.Result.Partial, "headline": in.Result.Headline, "seed": strconv.FormatUint(in.Result.Seed, 10)}) +
		`,"traceEvents":[`)
	end := in.Events.End()
	t.name("process_name", traceRun, 0, "faults and phases")
	t.name("thread_name", traceRun, tracePhases, "phases")
	t.nameClients(in.Acquisitions)
	t.phases(in.Events, end)
	t.faults(measure.FaultSpans(in.Events))
	for process, all := range measure.Stops(in.Events) {
		if pid, known := t.processes[process]; known {
			for _, s := range all {
				t.span("stopped", "process", s, pid, traceWhole, nil)
			}
		}
	}
	for i := range in.Acquisitions {
		t.acquisition(&in.Acquisitions[i], end)
	}
	for _, v := range in.Report.Checks {
		for _, f := range v.Findings {
			t.event(traceEvent{Name: v.Name + ": " + string(f.Kind), Cat: "finding", Phase: "i", Ts: micros(f.At), Pid: traceRun,
				Tid: tracePhases, Scope: "g", Args: map[string]any{"text": f.Text, "lock": f.Lock, "clients": f.Clients}})
		}
	}
	t.print("\n]}\n")
	return t.err
}

// nameClients numbers processes and threads, and names them.
func (t *tracer) nameClients(acq []history.Acquisition) {
	ofProcess := map[string][][2]string{}
	seen := map[[2]string]bool{}
	var processes []string
	for i := range acq {
		a := &acq[i]
		key := [2]string{a.Client, a.Lock}
		if seen[key] {
			continue
		}
		seen[key] = true
		if ofProcess[a.Process] == nil {
			processes = append(processes, a.Process)
		}
		ofProcess[a.Process] = append(ofProcess[a.Process], key)
	}
	slices.SortFunc(processes, measure.CompareNatural)
	for i, p := range processes {
		pid := i + 1
		t.processes[p] = pid
		t.name("process_name", pid, 0, p)
		t.name("thread_name", pid, traceWhole, "process")
		threads := ofProcess[p]
		slices.SortFunc(threads, func(a, b [2]string) int { return measure.CompareNatural(a[0]+" "+a[1], b[0]+" "+b[1]) })
		for k, key := range threads {
			t.threads[key] = k + 1
			t.name("thread_name", pid, k+1, key[0]+" "+key[1])
		}
	}
}

func (t *tracer) phases(events *history.Log, end int64) {
	marks := measure.PhaseMarks(events)
	for i, m := range marks {
		until := end
		if i+1 < len(marks) {
			until = marks[i+1].At
		}
		t.span(m.Name, "phase", spans.Span{From: m.At, Until: until}, traceRun, tracePhases, nil)
	}
}

// faults writes each fault into the first thread that is free for as long as it lasts.
func (t *tracer) faults(all []measure.FaultSpan) {
	var until []int64
	for _, f := range all {
		k := slices.IndexFunc(until, func(end int64) bool { return end <= f.From })
		if k < 0 {
			k = len(until)
			until = append(until, 0)
			t.name("thread_name", traceRun, tracePhases+1+k, "faults")
		}
		until[k] = max(f.Until, f.From+1)
		t.span(f.Label(), "fault", f.Span, traceRun, tracePhases+1+k, map[string]any{"id": f.ID, "targets": f.Targets,
			"healed": !f.Open})
	}
}

// acquisition writes the wait for a lock and the hold of it, as the client believed.
func (t *tracer) acquisition(a *history.Acquisition, end int64) {
	pid, tid := t.processes[a.Process], t.threads[[2]string{a.Client, a.Lock}]
	// Identifiers of 64 bits are texts, because a number of JavaScript's has 53.
	args := map[string]any{"lock": a.Lock, "acquisition": a.N}
	wait := spans.Span{From: a.Invoked, Until: end}
	if a.Returned != history.None {
		wait.Until = a.Returned
	}
	if !a.Granted() {
		args["outcome"] = string(a.Outcome)
		t.span("wait", "wait", wait, pid, tid, args)
		return
	}
	t.span("wait", "wait", wait, pid, tid, args)
	args = map[string]any{"lock": a.Lock, "acquisition": a.N, "token": strconv.FormatInt(a.Token, 10),
		"session": a.Session.String(), "lost": a.Lost != history.None}
	if a.Mode != history.ModeExclusive {
		args["mode"] = string(a.Mode)
	}
	t.span("hold", "hold", spans.Span{From: a.Returned, Until: a.BelievedUntil(end)}, pid, tid, args)
}

func (t *tracer) span(name, cat string, s spans.Span, pid, tid int, args map[string]any) {
	dur := micros(max(s.Lasts(), 0))
	t.event(traceEvent{Name: name, Cat: cat, Phase: "X", Ts: micros(s.From), Dur: &dur, Pid: pid, Tid: tid, Args: args})
}

// name writes a metadata event that names a process or a thread.
func (t *tracer) name(what string, pid, tid int, name string) {
	t.event(traceEvent{Name: what, Phase: "M", Pid: pid, Tid: tid, Args: map[string]any{"name": name}})
}

func (t *tracer) event(e traceEvent) {
	separator := "\n"
	if t.n > 0 {
		separator = ",\n"
	}
	t.n++
	t.print(separator + encoded(e))
}

func (t *tracer) print(text string) {
	if t.err == nil {
		_, t.err = io.WriteString(t.w, text)
	}
}

func encoded(v any) string {
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(v); err != nil {
		panic(fmt.Sprint("export: ", err)) // not reached: every value has plain fields
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

// micros converts nanoseconds to the unit of a trace.
func micros(ns int64) float64 { return float64(ns) / 1e3 }
