package result

import (
	"fmt"
	"math"
	"time"

	"locklab/harness/history"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/reports/measure"
	"locklab/reports/words"
	"locklab/workloads"
)

// resourceTimes returns how long each hold spent with the resource: all of it, apart from the time between its last
// read and its first write, in which the client works as long as the scenario says. Only holds that write tell that. So
// the holds of readers and of permits are left out, and those of a term, which work several times.
func resourceTimes(events *history.Log, acq []history.Acquisition, w measure.Interval) *measure.Recording {
	type hold struct {
		client string
		n      int64
	}
	lastRead := map[hold]int64{}
	worked := map[hold]int64{}
	several := map[hold]bool{}
	for _, e := range events.Of(history.OpRead, history.OpWrite) {
		if e.Process == rundir.ResourceHost {
			continue // its record of the same access
		}
		at := hold{e.Client, e.Acq}
		switch read, reading := lastRead[at]; {
		case e.Op == history.OpRead && e.Kind == history.OK:
			lastRead[at] = e.At
		case e.Op == history.OpWrite && e.Kind == history.Invoke && reading:
			_, before := worked[at]
			several[at] = several[at] || before
			worked[at] = e.At - read
			delete(lastRead, at)
		}
	}
	all := measure.NewRecording()
	for i := range acq {
		a := &acq[i]
		at := hold{a.Client, a.N}
		if took, wrote := worked[at]; wrote && !several[at] && w.Contains(a.Asked()) && a.Granted() &&
			a.ReleaseInvoked != history.None {
			all.Add(a.ReleaseInvoked - a.Returned - took)
		}
	}
	return all
}

// holdsLonger says that holds lasted longer than the scenario asks for, by more than a tenth and by more than a
// millisecond; empty if they did not, or if it asks for no length.
func (r *Result) holdsLonger(sc *scenario.Scenario) string {
	asked, got := int64(askedHold(sc)), r.Latency.Hold.P50Ns
	if got == nil || asked == 0 || float64(*got) <= 1.1*float64(asked) || *got <= asked+int64(time.Millisecond) {
		return ""
	}
	why := ""
	if t := r.Latency.HoldResource; t != nil && t.P50Ns != nil {
		why = fmt.Sprintf(", of which %s were for the resource that the lock protects (section: none leaves it alone)",
			words.Duration(*t.P50Ns))
	}
	return fmt.Sprintf("holds lasted %s in the median%s, and the scenario asks for %s: latencies and rates are those of "+
		"the longer holds", words.Duration(*got), why, words.Duration(asked))
}

// askedHold returns the median of the holds that a scenario asks for; 0 if it asks for no length.
func askedHold(sc *scenario.Scenario) time.Duration {
	if sc.Term > 0 {
		return sc.Term
	}
	if sc.Hold.Kind == workloads.Exponential {
		return time.Duration(float64(sc.Hold.Centre) * math.Ln2)
	}
	if sc.Hold.Kind == workloads.LogNormal {
		return sc.Hold.Centre
	}
	return sc.Hold.Mean()
}

// caveats are the warnings that make the numbers say something other than they seem to.
func (r *Result) caveats(run *rundir.Run, w measure.Interval) {
	if longer := r.holdsLonger(run.Scenario); longer != "" {
		r.Caveats = append(r.Caveats, longer)
	}
	r.Caveats = append(r.Caveats, measure.Slowed(run.Events, w)...)
}
