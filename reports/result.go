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
	SchemaVersion int          `json:"schema_version"`
	Scenario      string       `json:"scenario"`
	Seed          uint64       `json:"seed"`
	Partial       bool         `json:"partial"`
	Verdict       check.Result `json:"verdict"`
	// Headline is the run in one sentence.
	Headline string   `json:"headline"`
	modes    []string // of the holds, for the headline

	Lab              string `json:"lab"`
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
	ClosedLoop       bool   `json:"closed_loop"`
	Drain            string `json:"drain"`

	Warnings []string     `json:"warnings"`
	Checks   []CheckLine  `json:"checks"`
	Safety   check.Safety `json:"safety"`

	// Window is the measured window on the run's base.
	Window     Window              `json:"window"`
	Operations Operations          `json:"operations"`
	Throughput Throughput          `json:"throughput"`
	Latency    LatencyByPhase      `json:"latency"`
	Server     Server              `json:"server"`
	Fairness   Fairness            `json:"fairness"`
	Faults     []check.FaultRecord `json:"faults"`

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
}

// LatencyByPhase has one distribution per phase of an acquisition's life.
type LatencyByPhase struct {
	Acquire Latency `json:"acquire"`
	Handoff Latency `json:"handoff"`
	Hold    Latency `json:"hold"`
	Release Latency `json:"release"`
}

// ByPhase returns the distribution of the phase of that name.
func (l *LatencyByPhase) ByPhase(name string) *Latency {
	return map[string]*Latency{PhaseAcquire: &l.Acquire, PhaseHandoff: &l.Handoff, PhaseHold: &l.Hold, PhaseRelease: &l.Release}[name]
}

func nanoseconds(d time.Duration) *int64 {
	if d == 0 {
		return nil
	}
	n := int64(d)
	return &n
}
