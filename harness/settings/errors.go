package settings

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// An Error says what is wrong with a text and what to write instead.
type Error struct {
	Msg  string
	Hint string // may be empty
}

// Errorf returns an [*Error] with a hint and a formatted message.
func Errorf(hint, msg string, args ...any) error { return &Error{fmt.Sprintf(msg, args...), hint} }

// Error returns "message (hint)".
func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Msg
	}
	return e.Msg + " (" + e.Hint + ")"
}

// Quote quotes what a user wrote and shortens it if it is long.
func Quote(text string) string {
	const most = 40
	if r := []rune(text); len(r) > most {
		text = string(r[:most]) + "…"
	}
	return strconv.Quote(text)
}

// Choose refuses a text that is not one of the choices.
func Choose(text string, choices []string) error {
	if slices.Contains(choices, text) {
		return nil
	}
	return &Error{"unknown value " + Quote(text), DidYouMean(text, choices)}
}

// DidYouMean suggests the known words that are close to the word, or all of them if none is.
func DidYouMean(word string, known []string) string {
	near := Nearest(word, known)
	if len(near) == 0 {
		return "known: " + strings.Join(known, ", ")
	}
	return "did you mean " + strings.Join(near, " or ") + "?"
}

// Nearest returns the known words that are closest to the word, in their own order: those within a third of the word's
// length in edits, at least one edit and at most three.
func Nearest(word string, known []string) []string {
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

// distance returns the number of insertions, deletions, replacements and swaps of neighbours that turn a into b.
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
