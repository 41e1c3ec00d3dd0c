package history

import "strings"

// A FailReason says why an acquire failed, as its client recorded it.
type FailReason string

// The reasons. The first three are the workload's: no client wanted to wait any longer.
const (
	FailTimedOut  FailReason = "timed-out" // the client waited for as long as the scenario has it wait
	FailBusy      FailReason = "busy"      // the client only tried, and would have had to wait
	FailCancelled FailReason = "cancelled" // the run ended
	FailDeadline  FailReason = "deadline"  // the lock gave up by a time limit of its own
	FailAborted   FailReason = "aborted"   // the lock's call was cancelled, but not by the workload
	FailError     FailReason = "error"     // anything else
)

// The texts of acquires that failed for a reason of the workload's.
const (
	TextCancelled = "cancelled at the end of the run"
	TextTimedOut  = "timed out"
	TextBusy      = "busy: it would have to wait"
)

// ByWorkload reports whether the acquire failed only because its client did not want to wait any longer.
func (r FailReason) ByWorkload() bool {
	return r == FailTimedOut || r == FailBusy || r == FailCancelled
}

// failReason returns why an acquire failed. Histories from before clients recorded the reason are told by their texts,
// here and nowhere else.
func failReason(e *Event) FailReason {
	if e.Target != "" {
		return FailReason(e.Target)
	}
	switch e.Detail {
	case TextBusy:
		return FailBusy
	case TextTimedOut:
		return FailTimedOut
	case TextCancelled:
		return FailCancelled
	}
	text := strings.ToLower(e.Detail)
	contains := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(text, p) {
				return true
			}
		}
		return false
	}
	switch {
	case contains("deadline exceeded", "timed out", "timeout"):
		return FailDeadline
	case contains("cancel", "drain"):
		return FailAborted
	}
	return FailError
}
