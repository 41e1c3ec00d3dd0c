package measure

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"locklab/harness/check"
	"locklab/harness/history"
	"locklab/reports/words"
)

// Operations counts the acquisitions that were asked for in the measured window, by their outcome. Each is counted
// once. An acquisition of several locks counts once for each lock.
type Operations struct {
	Acquired int64 `json:"acquired"`
	TimedOut int64 `json:"timed_out"`
	// Busy counts attempts that did not want to wait and would have had to.
	Busy   int64 `json:"busy"`
	Failed int64 `json:"failed"`
	// Unknown counts acquisitions without a certain outcome, because the answer says so or because the process died
	// while it waited. If the servers' logs tell the outcome, they are counted as Resolved instead.
	Unknown  int64 `json:"unknown"`
	Resolved int64 `json:"resolved"`
	// Censored counts acquisitions that were still waiting when the run ended or the drain cancelled them.
	// CensoredMaxNs is the longest time for which one of them was seen to wait.
	Censored      int64  `json:"censored"`
	CensoredMaxNs *int64 `json:"censored_max_wait_ns"`
	// Reads, Writes and Permits are parts of Acquired: grants to read, grants to write, and permits granted together
	// or one by one.
	Reads   int64 `json:"reads"`
	Writes  int64 `json:"writes"`
	Permits int64 `json:"permits"`
	// AcquiredInRun counts the grants of the whole run, including warm-up and drain. The safety checks judge all of
	// them.
	AcquiredInRun int64 `json:"acquired_in_run"`
}

func CountOperations(acq []history.Acquisition, w Interval, resolved []check.Resolution) Operations {
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
		if !w.Contains(a.Asked()) {
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

func outcome(a *history.Acquisition, w Interval) ending {
	switch {
	case a.Granted():
		return granted
	case a.Returned == history.None && a.Died != history.None && a.Died < w.Until:
		return unknown
	case a.Returned == history.None:
		return censored
	case a.Outcome == history.Info:
		return unknown
	}
	switch a.Reason {
	case history.FailBusy:
		return refused
	case history.FailTimedOut, history.FailDeadline:
		return timedOut
	case history.FailCancelled, history.FailAborted:
		if a.Returned >= w.Until {
			return censored
		}
	}
	return failed
}

// Slowed says of each process how long its clients waited in the measured window because its record could not be
// collected as fast as it grew.
func Slowed(events *history.Log, w Interval) []string {
	waited := map[string]int64{}
	for _, e := range events.Of(history.OpSlowed) {
		if d := min(e.At, w.Until) - max(e.At-int64(e.Slowed()), w.From); d > 0 {
			waited[e.Process] += d
		}
	}
	var warnings []string
	for _, process := range slices.Sorted(maps.Keys(waited)) {
		warnings = append(warnings, fmt.Sprintf("clients of %s were kept waiting for %s of the measured %s, because their "+
			"record grew faster than it could be collected: the throughput is that of the recording, not of the lock",
			process, words.Duration(waited[process]), words.Duration(w.Until-w.From)))
	}
	return warnings
}

// Failures are the acquisitions of the whole run that the lock failed. An acquisition that ended because its client did
// not want to wait any longer is none of them.
type Failures struct {
	Count int64 `json:"count"`
	// Reasons are the first that differ, in the order in which they came. Reasons that differ only in numbers and names
	// with digits, such as those of znodes, are one.
	Reasons []FailureReason `json:"reasons"`
}

// A FailureReason is why acquisitions failed, in the words of the lock.
type FailureReason struct {
	Text  string `json:"text"` // of the first
	Count int64  `json:"count"`
}

const (
	// mostReasons is how many reasons are told.
	mostReasons = 3
	// longestReason is how many characters of a reason are told.
	longestReason = 200
)

// CountFailures counts the failures among acquisitions, which are in the order of their calls.
func CountFailures(acq []history.Acquisition, w Interval) Failures {
	f := Failures{Reasons: []FailureReason{}}
	places := map[string]int{} // in f.Reasons, by the text without numbers
	for i := range acq {
		a := &acq[i]
		if !failedByLock(a, w) {
			continue
		}
		f.Count++
		key := numbered.ReplaceAllString(a.Error, "#")
		place, known := places[key]
		switch {
		case known:
			f.Reasons[place].Count++
		case len(f.Reasons) < mostReasons:
			places[key] = len(f.Reasons)
			f.Reasons = append(f.Reasons, FailureReason{shortened(a.Error), 1})
		}
	}
	return f
}

// numbered is a word with a digit.
var numbered = regexp.MustCompile(`[\pL\d_-]*\d[\pL\d_-]*`)

// failedByLock reports whether the lock failed an acquisition, or gave it up by a time limit of its own.
func failedByLock(a *history.Acquisition, w Interval) bool {
	if a.Returned == history.None || a.Granted() || a.Reason.ByWorkload() {
		return false
	}
	how := outcome(a, w)
	return how == failed || how == timedOut
}

func shortened(text string) string {
	switch r := []rune(text); {
	case text == "":
		return "no reason given"
	case len(r) > longestReason:
		return string(r[:longestReason]) + "…"
	}
	return text
}

// Lines says for each reason how many acquisitions failed for it.
func (f Failures) Lines() []string {
	var lines []string
	others := f.Count
	for _, r := range f.Reasons {
		others -= r.Count
		lines = append(lines, fmt.Sprintf("%s × %s", words.Grouped(r.Count), r.Text))
	}
	if others > 0 {
		lines = append(lines, fmt.Sprintf("%s for other reasons", words.Grouped(others)))
	}
	return lines
}

// Title says how many acquisitions failed.
func (f Failures) Title() string { return words.Count(f.Count, "acquisition") + " failed" }

// Sentence says that all acquisitions failed or that most did, and why the first did. It is empty if more were granted
// than failed.
func (f Failures) Sentence(granted, all int64) string {
	if f.Count == 0 || f.Count <= granted {
		return ""
	}
	why := words.Sentence(f.Reasons[0].Text)
	switch {
	case all == 1:
		return "The only acquisition failed: " + why
	case f.Count == all:
		return fmt.Sprintf("All %s acquisitions failed, the first: %s", words.Grouped(all), why)
	}
	return fmt.Sprintf("%s of %s acquisitions failed, the first: %s", words.Grouped(f.Count), words.Grouped(all), why)
}
