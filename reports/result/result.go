package result

import (
	"fmt"
	"strings"
	"time"

	"locklab/harness/check"
	"locklab/harness/check/effect"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/harness/untrusted"
	"locklab/reports/measure"
	"locklab/reports/words"
)

// SchemaVersion is the version of result.json.
const SchemaVersion = 1

// A Result is a run in numbers: result.json. Pointers are null if the run does not say.
type Result struct {
	SchemaVersion int    `json:"schema_version"`
	Scenario      string `json:"scenario"`
	Seed          uint64 `json:"seed"`
	Partial       bool   `json:"partial"`
	// Spared says why the run ended itself to spare the ensemble of connect; empty if it did not.
	Spared string `json:"spared,omitempty"`
	// Verdict is the verdict of the checks or, if they pass, of the thresholds.
	Verdict evidence.Result `json:"verdict"`
	// Outcome says what the verdict means.
	Outcome Outcome `json:"outcome"`
	// Headline is the run in one sentence.
	Headline string         `json:"headline"`
	modes    []history.Mode // of the holds; only the headline uses them
	asked    int64          // all acquisitions of the run, likewise

	Lab              string `json:"lab"`
	Workload         string `json:"workload"`
	Recipe           string `json:"recipe"`
	Guard            string `json:"guard"`
	ZooKeeper        string `json:"zookeeper"`
	Storage          string `json:"storage"`
	Servers          int    `json:"servers"`
	Clients          int    `json:"clients"`
	ClientProcesses  int    `json:"client_processes"`
	Locks            int    `json:"locks"`
	SessionTimeoutNs *int64 `json:"session_timeout_ns"`
	TickNs           *int64 `json:"tick_ns"`
	// RoundTripNs is by how much relays made a request to a server and its answer longer; left out if there were none.
	RoundTripNs *int64 `json:"round_trip_ns,omitempty"`
	// Arrivals says how work arrived. ClosedLoop says that it arrived only as fast as it was done.
	Arrivals   string `json:"arrivals"`
	ClosedLoop bool   `json:"closed_loop"`
	// Queue is how many arrivals wait while all clients are busy.
	Queue int    `json:"queue,omitempty"`
	Drain string `json:"drain"`

	// Caveats are warnings that lead, because they make the numbers say something other than they seem to.
	Caveats  []string    `json:"caveats,omitempty"`
	Warnings []string    `json:"warnings"`
	Checks   []CheckLine `json:"checks"`
	// ChecksJudged is how many of the checks that judge the lock could do so, of ChecksTotal.
	ChecksJudged int             `json:"checks_judged"`
	ChecksTotal  int             `json:"checks_total"`
	Safety       evidence.Safety `json:"safety"`
	// Sometimes says how often the conditions were met that the scenario names.
	Sometimes []evidence.ConditionCount `json:"sometimes"`

	Thresholds []ThresholdLine `json:"thresholds"`
	// Losses are of the thresholds that bound percentiles of the time to get the lock; left out if none does.
	Losses []Loss `json:"losses,omitempty"`

	// LengthNs is how long the run took, to the last event of its record.
	LengthNs int64 `json:"length_ns"`
	// Window is the measured window on the run's base.
	Window     Window             `json:"window"`
	Operations measure.Operations `json:"operations"`
	Failures   measure.Failures   `json:"failures"`
	Throughput Throughput         `json:"throughput"`
	Latency    LatencyByPhase     `json:"latency"`
	Sharing    *measure.Sharing   `json:"sharing"` // null if no lock could be shared
	Server     Server             `json:"server"`
	Fairness   measure.Fairness   `json:"fairness"`
	Hiccups    *Hiccups           `json:"hiccups"`
	// Quantities are the numbers that have no field of their own, by the last part of their paths.
	Quantities map[string]*float64 `json:"quantities,omitempty"`
	// ResidentPerClient is the memory of the client processes at the end of the window, in bytes, divided by the
	// clients.
	ResidentPerClient *int64               `json:"resident_bytes_per_client"`
	Faults            []effect.FaultRecord `json:"faults"`
	// Failovers are what faults did to the handing out of locks; left out if no fault could do anything to it.
	Failovers []Failover `json:"failovers,omitempty"`
	// Clocks says how closely the clocks of hosts on other machines were placed on the run's; it is left out where all
	// hosts have the run's.
	Clocks []history.Uncertainty `json:"clocks,omitempty"`

	_ struct{}
}

// Input is what a report is made of: a run, its verdicts and its numbers. Nobody may change it, because files and
// pictures are made of it at the same time.
type Input struct {
	*rundir.Run
	Report check.Report
	Result Result
	// Window is the measured window, and Latencies has the distributions in it, see [measure.Distributions].
	Window    measure.Interval
	Latencies map[string]*measure.Recording
	hiccups   map[string]*measure.Recording // by process; nil without a window

	_ struct{}
}

// A CheckLine is a check without its evidence, which is in verdicts.json.
type CheckLine struct {
	Name     string               `json:"name"`
	Expected evidence.Expectation `json:"expected"`
	Result   evidence.Result      `json:"result"`
	// Outcome says whether the result is as expected.
	Outcome evidence.Result `json:"outcome"`
	Count   int64           `json:"count"`
	Summary string          `json:"summary"`
}

// Idle reports whether the check does not apply to the run. Then it is as expected, and has shown nothing.
func (c *CheckLine) Idle() bool {
	return c.Result == evidence.NotApplicable && c.Outcome == evidence.Pass
}

// A Window is the measured window; null if the run never reached it.
type Window struct {
	FromNs *int64 `json:"from_ns"`
	ToNs   *int64 `json:"to_ns"`
}

// Throughput is what was granted within the window, over its wall time.
type Throughput struct {
	AcquiredPerS *float64 `json:"acquired_per_s"`
	// The others are of open loops, and null in a closed one. OfferedPerS is what was due in the window. Dropped is
	// how much of it found no idle client; it is in no latency.
	OfferedPerS *float64 `json:"offered_per_s"`
	Dropped     *int64   `json:"dropped"`
	DroppedPerS *float64 `json:"dropped_per_s"`
	// BacklogMax is the most acquisitions that were due and waiting at any moment of the window. BacklogEnd is how
	// many were at its end.
	BacklogMax *int64 `json:"backlog_max"`
	BacklogEnd *int64 `json:"backlog_end"`
}

// LatencyByPhase has one distribution per phase of an acquisition's life.
type LatencyByPhase struct {
	Acquire measure.Latency `json:"acquire"`
	// Arrival and Service are the parts of Acquire in an open loop; null in a closed one.
	Arrival *measure.Latency `json:"arrival"`
	Service *measure.Latency `json:"service"`
	// Enqueue and Wait are of the clients that were seen to queue.
	Enqueue measure.Latency `json:"enqueue"`
	Wait    measure.Latency `json:"wait"`
	Handoff measure.Latency `json:"handoff"`
	Hold    measure.Latency `json:"hold"`
	Release measure.Latency `json:"release"`
	// HoldResource is the part of Hold that went to the resource; null if no client wrote to it.
	HoldResource *measure.Latency `json:"hold_resource"`
	// AcquireRead and AcquireWrite are Acquire by what was asked for; null unless a lock could be read. A read
	// without a wait, such as that of a writer that becomes a reader, is included.
	AcquireRead  *measure.Latency `json:"acquire_read"`
	AcquireWrite *measure.Latency `json:"acquire_write"`
}

// ByPhase returns the distribution of a phase, or of [measure.AcquireRead], [measure.AcquireWrite] or
// [measure.HoldResource]; nil if it is null, or if there is no such phase.
func (l *LatencyByPhase) ByPhase(name string) *measure.Latency {
	if at := l.optional(name); at != nil {
		return *at
	}
	return map[string]*measure.Latency{measure.PhaseAcquire: &l.Acquire, measure.PhaseEnqueue: &l.Enqueue,
		measure.PhaseWait: &l.Wait, measure.PhaseHandoff: &l.Handoff, measure.PhaseHold: &l.Hold,
		measure.PhaseRelease: &l.Release}[name]
}

// optional returns where a distribution is that may be null; nil for the others.
func (l *LatencyByPhase) optional(name string) **measure.Latency {
	return map[string]**measure.Latency{measure.PhaseArrival: &l.Arrival, measure.PhaseService: &l.Service,
		measure.AcquireRead: &l.AcquireRead, measure.AcquireWrite: &l.AcquireWrite,
		measure.HoldResource: &l.HoldResource}[name]
}

func (l *LatencyByPhase) set(name string, to measure.Latency) {
	if at := l.optional(name); at != nil {
		*at = &to
		return
	}
	*l.ByPhase(name) = to
}

func nanoseconds(d time.Duration) *int64 {
	if d == 0 {
		return nil
	}
	n := int64(d)
	return &n
}

// Read reads the result of the run in a directory. Its texts are safe to show.
func Read(dir string) (*Result, error) {
	var r Result
	if err := rundir.ReadResult(dir, &r); err != nil {
		return nil, fmt.Errorf("result of %s: %w", dir, err)
	}
	untrusted.Lines(&r)
	return &r, nil
}

// Begun returns the result of a run that has only begun. It stays in the run directory if the run is never judged.
func Begun(sc *scenario.Scenario) Result {
	r := NewInput(rundir.Begun(sc), check.Report{Verdict: evidence.Unknown}).Result
	r.Warnings = append(r.Warnings, "the run has not ended, or its harness was killed; locklab check reads what there is")
	return r
}

// judged says how many of the checks that judge a lock could do so: one that does not apply, or whose result is not
// known, has found nothing wrong and nothing right.
func judged(checks []CheckLine) (could, all int) {
	for _, line := range checks {
		if c, known := check.Named(line.Name); !known || c.OfRun {
			continue
		}
		all++
		if line.Result == evidence.Pass || line.Result == evidence.Fail {
			could++
		}
	}
	return could, all
}

// findingOverlap is the kind of the check's findings that two clients believed at once that they held a lock.
const findingOverlap = evidence.KindOverlap

// OverlapFindings returns the findings that two clients believed at once that they held a lock, in the order of the
// check.
func OverlapFindings(rep check.Report) []evidence.Finding {
	var all []evidence.Finding
	if v := rep.Check(evidence.BeliefExclusion); v != nil {
		for _, f := range v.Findings {
			if IsOverlap(&f) {
				all = append(all, f)
			}
		}
	}
	return all
}

// IsOverlap reports whether a finding is an overlap of two clients' holds.
func IsOverlap(f *evidence.Finding) bool { return f.Kind == findingOverlap && len(f.Clients) == 2 }

// Heading is the run's verdict for people. A pass in which two clients held a lock at once, or an outdated access got
// through, says so: the scenario allowed it, and it is no sound lock's pass.
func (r *Result) Heading() string {
	if seen := r.allowed(); seen != "" {
		return "Pass, though " + seen + ", as the scenario allows"
	}
	return r.Outcome.Heading()
}

// OutcomeClass is the outcome as the pages colour it. A pass that allowed damage is not shown as a sound lock's.
func (r *Result) OutcomeClass() Outcome {
	if r.allowed() != "" && (positive(r.Safety.StaleAccepted) || positive(r.Safety.LostUpdates)) {
		return DamageShown
	}
	return r.Outcome
}

// allowed says what a run that passed had that a sound lock with a guard has not; "" if nothing.
func (r *Result) allowed() string {
	if r.Outcome != AsExpected {
		return ""
	}
	var all []string
	for _, c := range []struct {
		n    *int64
		noun string
		does string
	}{{r.Safety.Overlaps, "overlap", "was seen"}, {r.Safety.StaleAccepted, "outdated access", "was accepted"},
		{r.Safety.LostUpdates, "update", "was lost"}} {
		if !positive(c.n) {
			continue
		}
		does := c.does
		if *c.n > 1 {
			does = strings.Replace(does, "was", "were", 1)
		}
		all = append(all, fmt.Sprintf("%s %s", words.Count(*c.n, c.noun), does))
	}
	return strings.Join(all, " and ")
}

func positive(n *int64) bool { return n != nil && *n > 0 }
