package reports

import (
	"fmt"
	"slices"

	"locklab/harness/check"
	"locklab/harness/history"
)

// Summarize reduces a run to its numbers. It never fails: what the history does
// not say is null, and a warning says why where that is not plain.
func Summarize(events []history.Event, acq []history.Acquisition, rep check.Report, meta Meta) Result {
	w := measuredWindow(events)
	r := Result{
		SchemaVersion: SchemaVersion,
		Scenario:      meta.Scenario, Seed: meta.Seed, Partial: meta.Partial, Verdict: rep.Verdict,
		Lab: meta.Lab, Recipe: meta.Recipe, Guard: meta.Guard, ZooKeeper: meta.ZooKeeper, Storage: meta.Storage,
		Servers: meta.Servers, Clients: meta.Clients, ClientProcesses: meta.Processes, Locks: meta.Locks,
		SessionTimeoutNs: nanoseconds(meta.SessionTimeout), TickNs: nanoseconds(meta.Tick),
		ClosedLoop: meta.ClosedLoop, Drain: meta.Drain,
		Warnings: append(append([]string{}, meta.Warnings...), rep.Warnings...),
		Checks:   []CheckLine{},
		Safety:   rep.Safety,
		Faults:   append([]check.FaultRecord{}, rep.Faults...),
	}
	for i := range rep.Checks {
		v := &rep.Checks[i]
		r.Checks = append(r.Checks, CheckLine{v.Name, v.Expected, v.Result, v.Outcome(), v.Count, v.Summary})
	}
	for i := range acq {
		if acq[i].Granted() {
			r.Operations.AcquiredInRun++
			if !slices.Contains(r.modes, acq[i].Mode) {
				r.modes = append(r.modes, acq[i].Mode)
			}
		}
	}
	if !w.Measured {
		r.warn("the run never reached its measured window: there are no latencies and no throughput")
	} else {
		r.measure(events, acq, w, meta)
		if f := rep.Check(check.Fairness); f != nil && (f.Result == check.Pass || f.Result == check.Fail) {
			n := f.Count
			r.Fairness.FIFOInversions = &n
		}
	}
	r.Headline = Headline(r, rep)
	return r
}

// measure fills in what comes from the measured window.
func (r *Result) measure(events []history.Event, acq []history.Acquisition, w window, meta Meta) {
	r.Window = Window{&w.From, &w.To}
	if w.Cut {
		r.warn("the run broke off inside its measured window, which is taken to end with the last event")
	}
	inRun := r.Operations.AcquiredInRun
	r.Operations = countOperations(acq, w)
	r.Operations.AcquiredInRun = inRun
	r.Throughput = throughput(acq, w)
	all := samples(acq, w)
	for _, phase := range phases {
		l := record(all[phase]).latency()
		*r.Latency.ByPhase(phase) = l
		if l.Errors > 0 {
			r.warn(fmt.Sprintf("%d %s times were negative or longer than an hour and are not in the distribution", l.Errors, phase))
		}
	}
	if n := r.Operations.Censored; n > 0 {
		r.warn(fmt.Sprintf("%d acquisitions were still waiting when the run ended, the longest for %s; the acquire latencies do not contain them",
			n, duration(*r.Operations.CensoredMaxNs)))
	}
	r.Fairness = fairness(acq, w)
	var warnings []string
	r.Server, warnings = serverCost(events, acq, meta)
	r.warn(warnings...)
}

func (r *Result) warn(w ...string) { r.Warnings = append(r.Warnings, w...) }

func throughput(acq []history.Acquisition, w window) Throughput {
	if w.seconds() <= 0 {
		return Throughput{}
	}
	n := 0
	for i := range acq {
		if acq[i].Granted() && w.contains(acq[i].Returned) {
			n++
		}
	}
	rate := float64(n) / w.seconds()
	return Throughput{&rate}
}
