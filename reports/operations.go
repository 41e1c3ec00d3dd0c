package reports

import (
	"strings"

	"locklab/harness/history"
)

// Operations counts the acquisitions invoked in the measured window by what
// became of them. Each is counted once.
type Operations struct {
	Acquired int64 `json:"acquired"`
	TimedOut int64 `json:"timed_out"`
	Failed   int64 `json:"failed"`
	// Unknown had no certain outcome: an answer that says so, or a process that
	// died while it waited.
	Unknown int64 `json:"unknown"`
	// Censored were still waiting when the run ended or the drain cancelled
	// them; how long they would have waited nobody knows, but not less than:
	Censored      int64  `json:"censored"`
	CensoredMaxNs *int64 `json:"censored_max_wait_ns"`
	// AcquiredInRun counts the grants of the whole run, warm-up and drain
	// included: those that the safety checks judge.
	AcquiredInRun int64 `json:"acquired_in_run"`
}

func countOperations(acq []history.Acquisition, w window) Operations {
	var n Operations
	for i := range acq {
		a := &acq[i]
		if !w.contains(a.Invoked) {
			continue
		}
		switch outcome(a, w) {
		case granted:
			n.Acquired++
		case timedOut:
			n.TimedOut++
		case failed:
			n.Failed++
		case unknown:
			n.Unknown++
		case censored:
			n.Censored++
			until := w.End
			if a.Returned != history.None {
				until = a.Returned
			}
			if wait := until - a.Invoked; n.CensoredMaxNs == nil || wait > *n.CensoredMaxNs {
				n.CensoredMaxNs = &wait
			}
		}
	}
	return n
}

type ending int

const (
	granted ending = iota
	timedOut
	failed
	unknown
	censored
)

// outcome says how an acquisition ended.
func outcome(a *history.Acquisition, w window) ending {
	switch {
	case a.Granted():
		return granted
	case a.Returned == history.None && a.Died != history.None && a.Died < w.To:
		return unknown
	case a.Returned == history.None:
		return censored
	case a.Outcome == history.Info:
		return unknown
	case containsAny(a.Error, "deadline exceeded", "timed out", "timeout"):
		return timedOut
	case a.Returned >= w.To && containsAny(a.Error, "cancel", "drain"):
		return censored
	}
	return failed
}

func containsAny(s string, parts ...string) bool {
	for _, p := range parts {
		if strings.Contains(strings.ToLower(s), p) {
			return true
		}
	}
	return false
}
