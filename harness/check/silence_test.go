package check

import (
	"testing"
	"time"

	"locklab/harness/check/evidence"
	"locklab/harness/history"
)

// What a process reads when it goes on after a standstill may have been sent before. What it reads later has been sent
// later.
func TestSentBy(t *testing.T) {
	stood := func(from, until int64) *history.Event {
		e := history.HiccupOf(until, time.Duration(until-from))
		e.Process = "c1"
		return &e
	}
	d := &evidence.Digest{Hiccups: map[string][]*history.Event{"c1": {stood(1000, 1100), stood(5000, 9000)}}}
	for _, c := range []struct {
		process  string
		at, want int64
	}{
		{"c1", 500, 500},
		{"c1", 1000, 1000},
		{"c1", 1001, 1000}, // recorded while another thread was found to stand still
		{"c1", 1100, 1000},
		{"c1", 1200, 1000},
		{"c1", 1201, 1201},
		{"c1", 4999, 4999},
		{"c1", 9000, 5000},
		{"c1", 13_000, 5000},
		{"c1", 13_001, 13_001},
		{"c2", 9000, 9000},
	} {
		if got := d.SentBy(c.process, c.at); got != c.want {
			t.Errorf("what %s read at %d was sent by %d, want %d", c.process, c.at, got, c.want)
		}
	}
}
