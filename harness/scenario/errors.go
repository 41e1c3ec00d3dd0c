package scenario

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// An InputError is something wrong with what the user wrote: where, what, and
// what to write instead. It is in a file (File, Line and Column, from 1), or in
// a flag or an environment variable (Flag: "--clients", "LOCKLAB_CLIENTS"), or
// in neither (a scenario's name).
type InputError struct {
	File         string
	Line, Column int
	Flag         string
	Msg          string
	Hint         string // may be empty
}

// Error returns "file:line:column: message (hint)", or "--flag: message (hint)".
func (e *InputError) Error() string {
	var b strings.Builder
	switch {
	case e.Flag != "":
		b.WriteString(e.Flag + ": ")
	case e.File != "" && e.Line > 0:
		fmt.Fprintf(&b, "%s:%d:%d: ", e.File, e.Line, e.Column)
	case e.File != "":
		b.WriteString(e.File + ": ")
	}
	b.WriteString(e.Msg)
	if e.Hint != "" {
		b.WriteString(" (" + e.Hint + ")")
	}
	return b.String()
}

// A valueError is an InputError that does not know where it is yet.
type valueError struct{ msg, hint string }

func (e *valueError) Error() string {
	if e.hint == "" {
		return e.msg
	}
	return e.msg + " (" + e.hint + ")"
}

// quote quotes what the user wrote, shortened where it is long.
func quote(text string) string {
	const most = 40
	if r := []rune(text); len(r) > most {
		text = string(r[:most]) + "…"
	}
	return strconv.Quote(text)
}

// didYouMean suggests the known words that are near to the word, or all of
// them where none is.
func didYouMean(word string, known []string) string {
	near := nearest(word, known)
	if len(near) == 0 {
		return "known: " + strings.Join(known, ", ")
	}
	return "did you mean " + strings.Join(near, " or ") + "?"
}

// nearest returns the known words within a third of the word's length in edits
// (at least one edit, at most three), the nearest only, in their own order.
func nearest(word string, known []string) []string {
	if len(word) > 64 {
		return nil
	}
	word = strings.ReplaceAll(strings.ToLower(word), "_", "-")
	best := min(3, max(1, len(word)/3))
	var near []string
	for _, k := range known {
		d := distance(word, strings.ReplaceAll(k, "_", "-"))
		if d > best || d >= len(word) {
			continue
		}
		if d < best {
			best, near = d, nil
		}
		near = append(near, k)
	}
	return near
}

// distance is the number of insertions, deletions, replacements and swaps of
// neighbours that turn a into b.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// likelyMetric suggests numbers of a result for a name that is none: the near ones, or
// the one whose whole path was given.
func likelyMetric(name string, known []string) string {
	short := strings.TrimSuffix(name, "_ns")
	for _, block := range [...]string{"latency.", "throughput.", "safety."} {
		short = strings.TrimPrefix(short, block)
	}
	if slices.Contains(known, short) {
		return "did you mean " + short + "?"
	}
	if near := nearest(short, known); len(near) > 0 {
		return "did you mean " + strings.Join(near, " or ") + "?"
	}
	return "a path in result.json without latency., throughput., safety. and _ns, such as acquire.p99, acquired_per_s, overlaps"
}
