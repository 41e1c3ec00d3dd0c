package zksession

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A slow receiver delays nobody, and still gets all changes in order.
func TestChangesAreDeliveredInOrder(t *testing.T) {
	var got []int64
	block, entered := make(chan struct{}), make(chan struct{}, 3)
	q := newChanges(func(c StateChange) {
		entered <- struct{}{}
		<-block
		got = append(got, c.Session)
	})
	done := make(chan struct{})
	go func() { defer close(done); q.deliver() }()
	q.push(StateChange{Session: 1}, false)
	<-entered
	q.push(StateChange{Session: 2}, false)
	q.push(StateChange{Session: 3}, true)
	close(block)
	<-done
	if d := cmp.Diff([]int64{1, 2, 3}, got); d != "" {
		t.Error(d)
	}
}

func TestChangesMayEndWithoutAny(t *testing.T) {
	q := newChanges(nil)
	q.end()
	q.deliver()
}

// Without a receiver, a session that has ended waits for no delivery.
func TestChangesWithoutAReceiver(t *testing.T) {
	q := newChanges(nil)
	q.push(StateChange{Session: 1}, false)
	q.push(StateChange{Session: 1, State: Closed}, true)
	q.deliver()
}
