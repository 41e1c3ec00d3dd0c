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
		Scenario:      meta.Scenario, Seed: meta.Seed, Partial: meta.Partial,
		Lab: meta.Lab, Workload: meta.Workload, Recipe: meta.Recipe, Guard: meta.Guard, ZooKeeper: meta.ZooKeeper, Storage: meta.Storage,
		Servers: meta.Servers, Clients: meta.Clients, ClientProcesses: meta.Processes, Locks: meta.Locks,
		SessionTimeoutNs: nanoseconds(meta.SessionTimeout), TickNs: nanoseconds(meta.Tick),
		Arrivals: meta.Arrivals, ClosedLoop: meta.ClosedLoop, Drain: meta.Drain,
		Warnings: append(append([]string{}, meta.Warnings...), rep.Warnings...),
		Checks:   []CheckLine{}, Thresholds: []ThresholdLine{},
		Safety: rep.Safety,
		Faults: append([]check.FaultRecord{}, rep.Faults...),
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
		r.measure(events, acq, w, meta, rep.Resolved)
		if f := rep.Check(check.Fairness); f != nil && (f.Result == check.Pass || f.Result == check.Fail) {
			n := f.Count
			r.Fairness.FIFOInversions = &n
		}
	}
	r.judgeThresholds(meta.Thresholds) // of all the numbers above
	r.Verdict = overall(rep.Verdict, r.Thresholds)
	r.Headline = Headline(r, rep)
	return r
}

// measure fills in what comes from the measured window.
func (r *Result) measure(events []history.Event, acq []history.Acquisition, w window, meta Meta, resolved []check.Resolution) {
	r.Window = Window{&w.From, &w.To}
	if w.Cut {
		r.warn("the run broke off inside its measured window, which is taken to end with the last event")
	}
	inRun := r.Operations.AcquiredInRun
	r.Operations = countOperations(acq, w, resolved)
	r.Operations.AcquiredInRun = inRun
	r.Throughput = throughput(acq, w)
	if !meta.ClosedLoop {
		r.Throughput.offered(events, acq, w)
		if n := *r.Throughput.Dropped; n > 0 {
			r.warn(fmt.Sprintf("dropped for want of a free client: %s of those due in the window; the latencies are of the others", grouped(n)))
		}
	}
	all := samples(acq, w)
	for _, phase := range phases {
		if openOnly(phase) && meta.ClosedLoop {
			continue
		}
		l := record(all[phase]).latency()
		if openOnly(phase) {
			*r.Latency.part(phase) = &l
		} else {
			*r.Latency.ByPhase(phase) = l
		}
		if l.Errors > 0 {
			r.warn(fmt.Sprintf("%d %s times were negative or longer than an hour and are not in the distribution", l.Errors, phase))
		}
	}
	for _, part := range [...]string{acquireRead, acquireWrite} {
		if len(all[part]) > 0 {
			l := record(all[part]).latency()
			*r.Latency.part(part) = &l
		}
	}
	if n := r.Operations.Censored; n > 0 {
		r.warn(fmt.Sprintf("%d acquisitions were still waiting when the run ended, the longest for %s; the acquire latencies do not contain them",
			n, duration(*r.Operations.CensoredMaxNs)))
	}
	r.Sharing = sharingOf(acq, w, meta.Permits)
	if late, busy := r.Operations.TimedOut, r.Operations.Busy; late+busy > 0 {
		r.warn(fmt.Sprintf("given up without the lock: %s acquisitions timed out and %s would have had to wait; the acquire latencies do not contain them",
			grouped(late), grouped(busy)))
	}
	r.Fairness = fairness(acq, w)
	var warnings []string
	r.Server, warnings = serverCost(events, acq, meta)
	r.warn(warnings...)
	r.Hiccups, warnings = measureHiccups(events, w)
	r.warn(warnings...)
	r.noteUnsupported()
	r.ResidentPerClient = residentPerClient(events, meta)
}

func (r *Result) warn(w ...string) { r.Warnings = append(r.Warnings, w...) }
