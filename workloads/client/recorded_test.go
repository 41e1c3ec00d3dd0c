package client

import (
	"testing"

	"locklab/harness/history"
)

// recorded reads the events that have been recorded into dir so far.
func recorded(tb testing.TB, dir string) []history.Event {
	tb.Helper()
	tail := history.NewTailer(dir)
	defer tail.Close()
	frames, err := tail.Next()
	if err != nil {
		tb.Fatal(err)
	}
	events, _, err := history.Decode(nil, frames, map[string]string{})
	if err != nil {
		tb.Fatal(err)
	}
	return events
}
