package run

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"locklab/harness/history"
	"locklab/harness/rundir"
)

// A follower reads the harness's history while a run records it.
type follower struct {
	tail   *history.Tailer
	events []history.Event
}

func newFollower(dir string) *follower {
	return &follower{tail: history.NewTailer(rundir.HostDir(dir, rundir.HarnessHost))}
}

func (w *follower) Close() { w.tail.Close() }

// seen reports whether the harness has recorded such an event.
func (w *follower) seen(t testing.TB, ok func(history.Event) bool) bool {
	t.Helper()
	for {
		b, err := w.tail.Next()
		if err != nil {
			t.Fatal(err)
		}
		if len(b) == 0 {
			break
		}
		if w.events, _, err = history.Decode(w.events, b, map[string]string{}); err != nil {
			t.Fatal(err)
		}
	}
	return slices.ContainsFunc(w.events, ok)
}

// inForce lists the kinds of the faults that were verified and not healed yet.
func (w *follower) inForce(t testing.TB) []string {
	t.Helper()
	w.seen(t, func(history.Event) bool { return false })
	kinds, now := map[string]string{}, map[string]bool{}
	for _, e := range w.events {
		switch {
		case e.Op == history.OpFaultAim:
			kinds[e.Fault] = e.FaultStep().Fault
		case e.Op == history.OpFaultVerify && e.Kind == history.OK:
			now[e.Fault] = true
		case e.Op == history.OpFaultHeal:
			delete(now, e.Fault)
		}
	}
	var all []string
	for id := range now {
		all = append(all, cmp.Or(kinds[id], id))
	}
	slices.Sort(all)
	return all
}

// await waits for an event of a run that ends on done.
func (w *follower) await(t testing.TB, done <-chan error, what string, ok func(history.Event) bool) {
	t.Helper()
	waitFor(t, done, what, func() bool { return w.seen(t, ok) })
}

// awaitCap is far longer than anything that is waited for takes.
const awaitCap = 2 * time.Minute

// waitFor polls a condition until it holds or done delivers.
func waitFor[T any](t testing.TB, done <-chan T, what string, ok func() bool) {
	t.Helper()
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	limit := time.NewTimer(awaitCap)
	defer limit.Stop()
	for !ok() {
		select {
		case <-poll.C:
		case how := <-done:
			t.Fatalf("waiting for %s: it has ended: %v", what, how)
		case <-limit.C:
			t.Fatalf("waiting for %s took longer than %v", what, awaitCap)
		}
	}
}
