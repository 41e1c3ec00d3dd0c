package broken_test

import (
	"cmp"
	"testing"
	"time"

	"locklab/ensembles/labtest/suite"
	"locklab/ensembles/reach"
	"locklab/ensembles/remote"
	"locklab/harness/history"
	"locklab/harness/inspect"
	"locklab/recipes/broken"
)

// inspected is what inspect says of the world's lock now.
func (w *world) inspected() *inspect.Report {
	w.t.Helper()
	i, err := inspect.Open(w.ctx, inspect.Config{Access: &remote.Access{Ensemble: reach.Ensemble{Servers: w.servers}},
		Path: w.path, Between: 10 * time.Millisecond})
	if err != nil {
		w.t.Fatal(err)
	}
	defer i.Close(w.ctx)
	r, err := i.Look(w.ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// What inspect says of each lock at the moment at which its bug shows. It sees znodes, and not what clients believe or
// watch: where a client is wrong about a lock whose znodes are in order, the lock is busy, with the holder by the rule.
func TestInspectShowsEachLock(t *testing.T) {
	suite.Nightly(t, "takes ten seconds; package inspect's tests decide about znodes that are made by hand")
	want := map[string]inspect.Verdict{"lost-create": inspect.Orphaned, "unsynced-search": inspect.Orphaned,
		"partial-permits": inspect.Deadlocked}
	for _, lock := range broken.Locks {
		if lock.Decorate != nil {
			continue // these are slow, and otherwise sound
		}
		t.Run(lock.Name, func(t *testing.T) {
			w := newWorldInMemory(t, lock, false)
			var r *inspect.Report
			w.shows = func() { r = w.inspected() }
			triggers[lock.Name](w)
			if r == nil {
				w.shows()
			}
			if lock.Name == "sequence-token" { // its bug is in numbers, and nobody holds it
				if r.Lock != nil || r.Verdict() != inspect.Empty {
					t.Errorf("%+v", r)
				}
				return
			}
			if r.Lock == nil {
				t.Fatalf("no lock is seen at %s: %+v", w.path, r)
			}
			t.Logf("%s: %s", r.Lock.Verdict, r.Lock.Because)
			if due := cmp.Or(want[lock.Name], inspect.Busy); r.Lock.Verdict != due {
				t.Errorf("verdict %q, want %q", r.Lock.Verdict, due)
			}
			if lock.Sound != "mutex" || len(r.Lock.Contenders) == 0 {
				return
			}
			// The checks of runs and inspect agree on who holds.
			queue := w.nodes(w.path)
			for i, c := range r.Lock.Contenders {
				if i >= len(queue) || c.Path != queue[i].path || c.Holds != eligible(queue, queue[i], false) ||
					c.Session != history.SessionID(queue[i].owner).String() {
					t.Errorf("contender %d is %+v, by the znodes %+v", i, c, queue)
				}
			}
		})
	}
}
