package measure

import (
	"fmt"
	"regexp"

	"locklab/harness/history"
	"locklab/reports/words"
)

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
