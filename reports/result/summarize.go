package result

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"locklab/ensembles"
	"locklab/harness/check"
	"locklab/harness/check/effect"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/reports/measure"
	"locklab/reports/words"
	"locklab/workloads"
)

// NewInput returns a run with its numbers. It never fails: a number that the history does not tell is null, and a
// warning says why if that is not obvious.
func NewInput(run *rundir.Run, rep check.Report) Input {
	sc, events, acq := run.Scenario, run.Events, run.Acquisitions
	w := measure.MeasuredWindow(events)
	in := Input{Run: run, Report: rep, Window: w, Latencies: measure.Distributions(events, w)}
	r := &in.Result
	*r = Result{
		SchemaVersion: SchemaVersion,
		Scenario:      sc.Name, Seed: sc.Seed, Partial: run.Partial,
		Lab: run.Env.Lab, Workload: sc.Workload, Recipe: sc.Recipe, Guard: sc.Guard,
		ZooKeeper: run.Env.ZooKeeper, Storage: sc.Storage,
		Servers: sc.Servers, Clients: sc.Clients, ClientProcesses: sc.ClientProcesses, Locks: sc.Locks,
		SessionTimeoutNs: nanoseconds(sc.Negotiated()), TickNs: nanoseconds(sc.Tick),
		Arrivals: sc.Arrivals, ClosedLoop: !sc.Open(), Queue: sc.Queue, Drain: sc.Drain,
		Warnings: append([]string{}, slices.Concat(sc.Warnings(), run.Warnings, rep.Warnings)...),
		Checks:   []CheckLine{}, Thresholds: []ThresholdLine{},
		Safety:    rep.Safety,
		Sometimes: append([]evidence.ConditionCount{}, rep.Sometimes...),
		Faults:    append([]effect.FaultRecord{}, rep.Faults...),
		Clocks:    events.Clocks().Uncertain(),
		LengthNs:  events.End(),
	}
	why := "a fault of this run acts on it, or because their lock cannot use TLS"
	if far := sc.RoundTrip; far.Relayed {
		r.RoundTripNs, why = new(int64(far.Added)), "round-trip asks for that"
	}
	if relayed := run.Env.Relayed; len(relayed) > 0 {
		r.warn(fmt.Sprintf("%s: what clients send to servers passes through a process of locklab's, because %s; latencies "+
			"and rates include that", strings.Join(slices.Sorted(maps.Keys(relayed)), ", "), why))
	}
	for _, c := range r.Clocks {
		r.warn(fmt.Sprintf("%s: the clock is another machine's; what it shows is known to %s, so shorter times to and from "+
			"other machines say nothing", strings.Join(c.Hosts, ", "), words.Duration(c.Err)))
	}
	for i := range rep.Checks {
		v := &rep.Checks[i]
		r.Checks = append(r.Checks, CheckLine{v.Name, v.Expected, v.Result, v.Outcome(), v.Count, v.Summary})
	}
	r.ChecksJudged, r.ChecksTotal = judged(r.Checks)
	if end, ended := events.First(history.OpEnd); ended && end.Ending() == history.EndSpared {
		r.Spared = end.EndedBecause()
	}
	for i := range acq {
		if acq[i].Granted() {
			r.Operations.AcquiredInRun++
			if !slices.Contains(r.modes, acq[i].Mode) {
				r.modes = append(r.modes, acq[i].Mode)
			}
		}
	}
	r.Failures = measure.CountFailures(acq, w)
	r.asked = int64(len(acq))
	if !w.Measured {
		r.warn("the run never reached its measured window: there are no latencies and no throughput")
	} else {
		in.measure()
		if f := rep.Check(evidence.Fairness); f != nil && (f.Result == evidence.Pass || f.Result == evidence.Fail) {
			n := f.Count
			r.Fairness.FIFOInversions = &n
		}
	}
	r.Caveats = append(r.Caveats, rep.Caveats...)
	r.judgeThresholds(sc.Thresholds) // by all the numbers above
	if run.Env.Lab == ensembles.LabSim {
		r.Caveats = append(r.Caveats, SimulatedCaveat)
	}
	if why := r.Void(); why != "" && !r.ClosedLoop {
		r.Caveats = append(r.Caveats,
			"the load side was the limit: "+why+"; what the run missed says nothing about the servers")
	}
	r.Verdict = overall(rep.Verdict, r.Thresholds)
	r.Outcome = outcomeOf(r.Verdict, rep)
	r.Headline = headline(*r, rep)
	return in
}

// SimulatedCaveat leads what is told of runs on a simulated ensemble.
const SimulatedCaveat = "the ensemble is simulated: times and rates are those of the model, and say nothing about " +
	"real servers"

// measure adds the numbers of the measured window.
func (in *Input) measure() {
	r, run, w := &in.Result, in.Run, in.Window
	events, acq, grants := run.Events, run.Acquisitions, history.Grants(run.Events)
	r.Window = Window{&w.From, &w.Until}
	if w.Cut {
		r.warn("the run broke off inside its measured window, which is taken to end with the last event")
	}
	inRun := r.Operations.AcquiredInRun
	r.Operations = measure.CountOperations(acq, w, in.Report.Resolved)
	r.Operations.AcquiredInRun = inRun
	r.Throughput = throughput(acq, w)
	if run.Scenario.Open() {
		r.Throughput.offered(events, acq, w)
		if n := *r.Throughput.Dropped; n > 0 {
			r.warn(fmt.Sprintf("%s of the acquisitions due in the window were dropped because %s; the "+
				"latencies are of the others", words.Grouped(n), noPlace(run.Scenario.Queue)))
		}
	}
	var shares sync.WaitGroup
	shares.Go(func() { r.Fairness = measure.FairnessOf(acq, grants, w) })
	for _, phase := range measure.Phases {
		if measure.OpenOnly(phase) && !run.Scenario.Open() {
			continue
		}
		l := in.Latencies[phase].Latency()
		r.Latency.set(phase, l)
		if l.Errors > 0 {
			r.warn(fmt.Sprintf("%d %s times were negative or longer than an hour and are not in the distribution",
				l.Errors, phase))
		}
	}
	for _, part := range [...]string{measure.AcquireRead, measure.AcquireWrite} {
		if l := in.Latencies[part].Latency(); l.Count+l.Errors > 0 {
			r.Latency.set(part, l)
		}
	}
	if t := resourceTimes(events, acq, w).Latency(); t.Count > 0 {
		r.Latency.set(measure.HoldResource, t)
	}
	r.caveats(run, w)
	if n := r.Operations.Censored; n > 0 {
		r.warn(fmt.Sprintf("%d acquisitions were still waiting when the run ended, the longest for %s; the acquire "+
			"latencies do not contain them",
			n, words.Duration(*r.Operations.CensoredMaxNs)))
	}
	r.Sharing = measure.SharingOf(grants, w, permitsOf(run.Scenario))
	if late, busy := r.Operations.TimedOut, r.Operations.Busy; late+busy > 0 {
		r.warn(fmt.Sprintf("given up without the lock: %s acquisitions timed out and %s would have had to wait; the "+
			"acquire latencies do not contain them",
			words.Grouped(late), words.Grouped(busy)))
	}
	shares.Wait()
	var warnings []string
	r.Server, warnings = serverCost(run)
	r.warn(warnings...)
	in.hiccups, warnings = hiccupsOf(events, w)
	r.warn(warnings...)
	r.Hiccups = summaryOf(in.hiccups)
	r.noteUnsupported()
	r.ResidentPerClient = residentPerClient(run)
	r.Failovers = failoversOf(run, w)
	for _, t := range run.Scenario.Thresholds {
		if l, ok := lossOf(t, events, acq, w); ok {
			r.Losses = append(r.Losses, l)
		}
	}
	for _, q := range catalogue {
		if q.Measure != nil {
			if r.Quantities == nil {
				r.Quantities = map[string]*float64{}
			}
			r.Quantities[q.key()] = q.Measure(run, w)
		}
	}
}

// noPlace says what an arrival finds that is dropped.
func noPlace(queue int) string {
	if queue > 0 {
		return fmt.Sprintf("no client was idle, and %s waited", words.Grouped(int64(queue)))
	}
	return "no client was idle"
}

func (r *Result) warn(w ...string) { r.Warnings = append(r.Warnings, w...) }

// permitsOf is the number of permits of each lock; 0 if the locks are not semaphores, or if the number changes.
func permitsOf(sc *scenario.Scenario) int {
	if sc.Workload != workloads.Semaphore || sc.Resize.Every != 0 {
		return 0
	}
	return sc.Permits
}
