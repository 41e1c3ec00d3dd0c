package watch

import (
	"context"
	"testing"
	"time"

	"locklab/harness/history"
)

// Where ZooKeeper keeps the protected data, the clients record their accesses, in no order among them. A later holder
// is known by its first access, and nothing is called lost or stale before that is known.
func TestViewOfDataInZooKeeper(t *testing.T) {
	l := NewView(Config{KeptInZooKeeper: true, Clock: history.NewClock()})
	over, cancel := context.WithCancel(t.Context())
	cancel()
	victim := history.Event{Op: history.OpTrigger, Client: "c1/0", Lock: "/l", Token: 5}
	add := func(process string, op history.Op, kind history.Kind, token, value int64) {
		l.add(
			[]history.Event{
				{Process: process, Client: process + "/0", Op: op, Kind: kind, Lock: "/l", Token: token, Value: value},
			},
		)
	}
	add("c1", history.OpWrite, history.OK, 4, 2)
	add("c2", history.OpWrite, history.OK, 3, 1)
	add("c2", history.OpWrite, history.Invoke, 6, 3)
	if err := l.Superseded(over, victim); err == nil {
		t.Error("superseded by a call that has not returned")
	}
	add("c2", history.OpRead, history.OK, 6, 2)
	if err := l.Superseded(t.Context(), victim); err != nil {
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
	if (State{l}).Finals() != 1 {
		t.Error("the final value is not known")
	}
}
