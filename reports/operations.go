package reports

import (
	"strings"

	"locklab/harness/check"
	"locklab/harness/history"
)

// Operations counts the acquisitions asked for in the measured window by what
// became of them. Each is counted once; one of several locks is one of each lock.
type Operations struct {
	Acquired int64 `json:"acquired"`
	TimedOut int64 `json:"timed_out"`
	// Busy were only tries, and would have had to wait.
	Busy   int64 `json:"busy"`
	Failed int64 `json:"failed"`
	// Unknown had no certain outcome: an answer that says so, or a process that
	// died while it waited. Resolved are those of them of which the servers' logs tell what became;
	// they are not among Unknown.
	Unknown  int64 `json:"unknown"`
	Resolved int64 `json:"resolved"`
	// Censored were still waiting when the run ended or the drain cancelled
	// them; how long they would have waited nobody knows, but not less than:
	Censored      int64  `json:"censored"`
	CensoredMaxNs *int64 `json:"censored_max_wait_ns"`
	// Reads, Writes and Permits are what Acquired is made of: grants to read, grants to
	// write, and permits that were granted together or one by one.
	Reads   int64 `json:"reads"`
	Writes  int64 `json:"writes"`
	Permits int64 `json:"permits"`
	// AcquiredInRun counts the grants of the whole run, warm-up and drain
	// included: those that the safety checks judge.
	AcquiredInRun int64 `json:"acquired_in_run"`
}

func countOperations(acq []history.Acquisition, w window, resolved []check.Resolution) Operations {
	var n Operations
	type key struct {
		client, lock string
		n            int64
	}
	known := map[key]bool{}
	for _, r := range resolved {
		if r.Op == history.OpAcquire {
			known[key{r.Client, r.Lock, r.N}] = true
		}
	}
	for i := range acq {
		a := &acq[i]
		if !w.contains(a.Asked()) {
			continue
		}
		switch outcome(a, w) {
		case granted:
			n.Acquired++
			n.Permits += a.Permits
			switch a.Mode {
			case history.ModeRead:
				n.Reads++
			case history.ModeWrite:
				n.Writes++
			}
		case timedOut:
			n.TimedOut++
		case refused:
			n.Busy++
		case failed:
			n.Failed++
		case unknown:
			if known[key{a.Client, a.Lock, a.N}] {
				n.Resolved++
			} else {
				n.Unknown++
			}
		case censored:
			n.Censored++
			until := w.End
			if a.Returned != history.None {
				until = a.Returned
			}
			if wait := until - a.Asked(); n.CensoredMaxNs == nil || wait > *n.CensoredMaxNs {
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
	refused
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
	case a.Error == history.Busy:
		return refused
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
