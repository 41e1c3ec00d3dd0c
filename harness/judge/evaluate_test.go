package judge

import (
	"testing"

	"locklab/harness/history"
)

// Only complete lists are known.
func TestFinalLists(t *testing.T) {
	element := func(lock string, v int64) history.Event {
		return history.Event{Op: history.OpElement, Lock: lock, Value: v}
	}
	elements := []history.Event{element("/a", 1), element("/torn", 1), element("/a", 2)}
	got := finalLists(history.NewLog(elements), map[string]int64{"/a": 2, "/none": 0, "/torn": 2})
	if len(got) != 2 || len(got["/a"]) != 2 || got["/none"] == nil {
		t.Errorf("lists %v", got)
	}
}
