package reports

import (
	"time"

	"locklab/harness/check"
)

// SchemaVersion is the version of result.json.
const SchemaVersion = 1

// A Result is a run in numbers: result.json. Pointers are null where the run
// does not say.
type Result struct {
	SchemaVersion int    `json:"schema_version" metric:"setting"`
	Scenario      string `json:"scenario"`
	Seed          uint64 `json:"seed" metric:"setting"`
	Partial       bool   `json:"partial"`
	// Verdict is of the checks and, where they pass, of the thresholds.
	Verdict check.Result `json:"verdict"`
	// Headline is the run in one sentence.
	Headline string   `json:"headline"`
	modes    []string // of the holds, for the headline

	Lab              string `json:"lab"`
	Workload         string `json:"workload"`
	Recipe           string `json:"recipe"`
	Guard            string `json:"guard"`
	ZooKeeper        string `json:"zookeeper"`
	Storage          string `json:"storage"`
	Servers          int    `json:"servers" metric:"setting"`
	Clients          int    `json:"clients" metric:"setting"`
	ClientProcesses  int    `json:"client_processes" metric:"setting"`
	Locks            int    `json:"locks" metric:"setting"`
	SessionTimeoutNs *int64 `json:"session_timeout_ns" metric:"setting"`
	TickNs           *int64 `json:"tick_ns" metric:"setting"`
	// Arrivals says how work arrived; ClosedLoop that it did only as fast as it was done.
	Arrivals   string `json:"arrivals"`
	ClosedLoop bool   `json:"closed_loop"`
	Drain      string `json:"drain"`

	Warnings []string     `json:"warnings"`
	Checks   []CheckLine  `json:"checks"`
	Safety   check.Safety `json:"safety"`

	Thresholds []ThresholdLine `json:"thresholds"`

	// Window is the measured window on the run's base.
	Window     Window         `json:"window"`
	Operations Operations     `json:"operations"`
	Throughput Throughput     `json:"throughput"`
	Latency    LatencyByPhase `json:"latency"`
	Sharing    *Sharing       `json:"sharing"` // null where nothing was shared
	Server     Server         `json:"server"`
	Fairness   Fairness       `json:"fairness"`
	Hiccups    *Hiccups       `json:"hiccups"`
	// ResidentPerClient is the memory of the client processes at the end of the
	// window, in bytes, by their clients.
	ResidentPerClient *int64              `json:"resident_bytes_per_client"`
	Faults            []check.FaultRecord `json:"faults"`

	_ struct{}
}

// A CheckLine is a check without its evidence, which is in verdicts.json.
type CheckLine struct {
	Name     string            `json:"name"`
	Expected check.Expectation `json:"expected"`
	Result   check.Result      `json:"result"`
	// Outcome is whether that was as expected.
	Outcome check.Result `json:"outcome"`
	Count   int64        `json:"count"`
	Summary string       `json:"summary"`
}

// A Window is the measured window; null if the run never measured.
type Window struct {
	FromNs *int64 `json:"from_ns"`
	ToNs   *int64 `json:"to_ns"`
}

// Throughput counts what was granted within the window, over its wall time.
type Throughput struct {
	AcquiredPerS *float64 `json:"acquired_per_s"`
	// Of work that arrives by itself; null in a closed loop. OfferedPerS is what was due in the window,
	// Dropped how much of it nobody was free to begin: it is in no latency.
	OfferedPerS *float64 `json:"offered_per_s"`
	Dropped     *int64   `json:"dropped"`
	DroppedPerS *float64 `json:"dropped_per_s"`
	// BacklogMax is the most acquisitions that were due and not over yet, and waited, at a moment of
	// the window; BacklogEnd is how many were at its end.
	BacklogMax *int64 `json:"backlog_max"`
	BacklogEnd *int64 `json:"backlog_end"`
}

// LatencyByPhase has one distribution per phase of an acquisition's life.
type LatencyByPhase struct {
	Acquire Latency `json:"acquire"`
	// Arrival and Service are parts of Acquire where work arrives by itself; null in a closed loop.
	Arrival *Latency `json:"arrival"`
	Service *Latency `json:"service"`
	// Enqueue and Wait are those of whoever was seen to queue.
	Enqueue Latency `json:"enqueue"`
	Wait    Latency `json:"wait"`
	Handoff Latency `json:"handoff"`
	Hold    Latency `json:"hold"`
	Release Latency `json:"release"`
	// AcquireRead and AcquireWrite are Acquire's parts; null unless a lock could be
	// read. A read without a wait, as of a writer that goes on as a reader, is in it.
	AcquireRead  *Latency `json:"acquire_read"`
	AcquireWrite *Latency `json:"acquire_write"`
}

// ByPhase returns the distribution of the phase of that name; nil if it is null, or none.
func (l *LatencyByPhase) ByPhase(name string) *Latency {
	return map[string]*Latency{PhaseAcquire: &l.Acquire, PhaseArrival: l.Arrival, PhaseService: l.Service, PhaseEnqueue: &l.Enqueue,
		PhaseWait: &l.Wait, PhaseHandoff: &l.Handoff, PhaseHold: &l.Hold, PhaseRelease: &l.Release}[name]
}

// part returns where the part of PhaseAcquire of that name is, which may be null.
func (l *LatencyByPhase) part(name string) **Latency {
	return map[string]**Latency{acquireRead: &l.AcquireRead, acquireWrite: &l.AcquireWrite, PhaseArrival: &l.Arrival, PhaseService: &l.Service}[name]
}

func nanoseconds(d time.Duration) *int64 {
	if d == 0 {
		return nil
	}
	n := int64(d)
	return &n
}
