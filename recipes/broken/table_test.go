package broken_test

import (
	"maps"
	"slices"
	"testing"

	"locklab/harness/check"
	"locklab/recipes/broken"
)

// triggers make the bugs show, by the names of the locks. What there is to be found is what they note.
var triggers = map[string]func(*world){
	"missing-own":       missingOwn,
	"stale-own":         staleOwn,
	"local-reentry":     localReentry,
	"lost-create":       lostCreate,
	"unsynced-search":   unsyncedSearch,
	"name-order":        nameOrder,
	"wrong-predecessor": wrongPredecessor,
	"lost-wakeup":       lostWakeup,
	"cancelled-cleanup": cancelledCleanup,
	"sequence-token":    sequenceToken,
	"later-writers":     laterWriters,
	"queued-downgrade":  queuedDowngrade,
	"local-read":        localRead,
	"dead-lease":        deadLease,
	"leaked-lease":      leakedLease,
	"partial-permits":   partialPermits,
	"blind-delete":      blindDelete,
	"queued-write":      queuedWrite,
}

// The trigger of each lock makes that lock show what its check must find, and nothing
// else. The sound recipe shows nothing, nor does the same lock with its one wrong step put right. Where it is a check of the
// servers' word that must find it, that check finds it in the servers' transaction logs, and nothing in the others'.
func TestTriggers(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(broken.Locks)) {
		lock := broken.Locks[name]
		if mended := broken.Mended[name]; mended != nil {
			t.Run(name+"/mended", func(t *testing.T) {
				lock := lock
				lock.New = mended
				w := newWorld(t, lock, false)
				triggers[name](w)
				if len(w.findings) > 0 {
					t.Errorf("mended: found %v", w.findings)
				}
				w.wantServersWord(check.Pass)
			})
		}
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, lock, false)
			triggers[name](w)
			if got := slices.Collect(maps.Keys(w.findings)); !slices.Equal(got, []broken.Check{lock.Check}) {
				t.Errorf("broken: found %v, want %s: %s", got, lock.Check, lock.Finding)
			}
			w.wantServersWord(check.Fail)
		})
		t.Run(name+"/"+lock.Sound, func(t *testing.T) {
			w := newWorld(t, lock, true)
			triggers[name](w)
			if len(w.findings) > 0 {
				t.Errorf("sound: found %v", w.findings)
			}
			w.wantServersWord(check.Pass)
		})
	}
}

// The table says all there is to say.
func TestTable(t *testing.T) {
	if n := len(broken.Locks); n < 15 {
		t.Errorf("%d locks", n)
	}
	made, bugs := map[string]bool{}, map[string]bool{}
	for name, l := range broken.Locks {
		if l.Bug == "" || l.Source == "" || l.Trigger == "" || l.Finding == "" || l.New == nil {
			t.Errorf("%s: something is missing: %+v", name, l)
		}
		if !slices.Contains([]broken.Check{broken.ServiceExclusion, broken.BeliefExclusion, broken.Tokens, broken.Liveness}, l.Check) {
			t.Errorf("%s: no such check: %q", name, l.Check)
		}
		if sound[l.Sound] == nil {
			t.Errorf("%s: no such recipe: %q", name, l.Sound)
		}
		if triggers[name] == nil {
			t.Errorf("%s: nothing triggers it", name)
		}
		if broken.Mended[name] == nil && name != "queued-write" { // which no lock on this client is without
			t.Errorf("%s: there is none without the bug", name)
		}
		if bugs[l.Bug] {
			t.Errorf("%s: another lock has the same bug", name)
		}
		bugs[l.Bug], made[name] = true, true
	}
	for name := range triggers {
		if !made[name] {
			t.Errorf("a trigger for %s, which does not exist", name)
		}
	}
}
