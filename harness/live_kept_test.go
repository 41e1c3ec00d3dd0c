package harness

import (
	"context"
	"testing"
	"time"

	"locklab/harness/history"
)

// Where ZooKeeper keeps what locks protect, clients tell what was done to it, in no order among them: a later
// holder is known by his first access, and what is lost or stale is not told before it is known.
func TestLiveOfWhatZooKeeperKeeps(t *testing.T) {
	l := newLive()
	l.kept, l.clock = true, history.NewClock()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	victim := history.Event{Op: history.OpTrigger, Client: "c1/0", Lock: "/l", Token: 5}
	add := func(process, op string, kind history.Kind, token, value int64) {
		l.add([]history.Event{{Process: process, Client: process + "/0", Op: op, Kind: kind, Lock: "/l", Token: token, Value: value}})
	}
	add("c1", history.OpWrite, history.OK, 4, 2)
	add("c2", history.OpWrite, history.OK, 3, 1)
	add("c2", history.OpWrite, history.Invoke, 6, 3)
	if err := l.superseded(over, victim); err == nil {
		t.Error("superseded by a call that has not returned")
	}
	add("c2", history.OpRead, history.OK, 6, 2)
	if err := l.superseded(t.Context(), victim); err != nil {
		t.Error(err)
	}
	add("c1", history.OpWrite, history.Fail, 5, 3)
	var p Progress
	l.progress(&p, time.Now())
	if p.Lost != 0 || p.Stale != -1 || p.Refused != 1 {
		t.Errorf("lost %d, stale %d, refused %d", p.Lost, p.Stale, p.Refused)
	}
	add("c3", history.OpWrite, history.OK, 6, 2)
	if l.progress(&p, time.Now()); p.Lost != 1 {
		t.Errorf("two wrote 2, and %d are lost", p.Lost)
	}
	add("c1", history.OpFinal, history.Info, 3, 2)
	if !l.ended["/l"] {
		t.Error("the final value is not known")
	}
}

// Of lists, only those are known that are complete.
func TestFinalLists(t *testing.T) {
	element := func(lock string, v int64) history.Event {
		return history.Event{Op: history.OpElement, Lock: lock, Value: v}
	}
	got := finalLists([]history.Event{element("/a", 1), element("/torn", 1), element("/a", 2)}, map[string]int64{"/a": 2, "/none": 0, "/torn": 2})
	if len(got) != 2 || len(got["/a"]) != 2 || got["/none"] == nil {
		t.Errorf("lists %v", got)
	}
}
