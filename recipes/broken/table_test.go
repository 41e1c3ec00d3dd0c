package broken_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"locklab/ensembles/labtest/suite"
	"locklab/harness/check/evidence"
	"locklab/recipes/broken"
)

// triggers make the bugs show, by the names of the locks. Each notes its findings in the world.
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
	"forgetful-session": forgetfulSession,
}

// The trigger of each lock produces exactly the finding that the table promises. The sound recipe produces no
// finding, and neither does the same lock with its one wrong step put right. Where the promised check reads the
// servers' transaction logs, that check finds the bug there too, and finds nothing in the logs of the sound locks.
func TestTriggers(t *testing.T) {
	suite.Nightly(t, "on real servers; TestTriggersInMemory shows each bug, too")
	testTriggers(t, newWorld)
}

// The same, but for the logs, on servers in memory, which behave as the real ones do.
func TestTriggersInMemory(t *testing.T) { testTriggers(t, newWorldInMemory) }

func testTriggers(t *testing.T, newWorld func(t *testing.T, lock broken.Lock, sound bool) *world) {
	for _, lock := range broken.Locks {
		name := lock.Name
		if lock.Decorate != nil {
			continue // no check finds these: see slow_test.go
		}
		if mended := broken.Mended[name]; mended != nil {
			t.Run(name+"/mended", func(t *testing.T) {
				lock := lock
				lock.New, lock.Forgetful = mended, false
				w := newWorld(t, lock, false)
				triggers[name](w)
				if len(w.findings) > 0 {
					t.Errorf("mended: found %v", w.findings)
				}
				w.wantServersWord(evidence.Pass)
			})
		}
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, lock, false)
			triggers[name](w)
			if got := slices.Collect(maps.Keys(w.findings)); !slices.Equal(got, []broken.Check{lock.Check}) {
				t.Errorf("broken: found %v, want %s: %s", got, lock.Check, lock.Finding)
			}
			w.wantServersWord(evidence.Fail)
		})
		t.Run(name+"/"+lock.Sound, func(t *testing.T) {
			w := newWorld(t, lock, true)
			triggers[name](w)
			if len(w.findings) > 0 {
				t.Errorf("sound: found %v", w.findings)
			}
			w.wantServersWord(evidence.Pass)
		})
	}
}

// Every scenario is that of a known bug, and every other bug has a built-in one or is shown by a comparison.
func TestScenariosAreOfKnownBugs(t *testing.T) {
	files, err := os.ReadDir("scenarios")
	if err != nil {
		t.Fatal(err)
	}
	left := len(files)
	for _, l := range broken.Known() {
		text, err := os.ReadFile(filepath.Join("scenarios", l.Name+".yaml"))
		if err == nil {
			left--
		}
		if l.Scenario != string(text) || (l.Scenario == "") != (l.Builtin != "" || l.Check == broken.Comparison) {
			t.Errorf("%s has the scenario %q and the built-in one %q", l.Name, l.Scenario, l.Builtin)
		}
	}
	if left != 0 {
		t.Errorf("%d scenarios are of no known bug", left)
	}
}

// Every entry of the table is complete, and can be found by its name.
func TestTable(t *testing.T) {
	if n := len(broken.Locks); n < 15 {
		t.Errorf("%d locks", n)
	}
	made, bugs := map[string]bool{}, map[string]bool{}
	for _, l := range broken.Locks {
		name := l.Name
		if name == "" || l.Bug == "" || l.Source == "" || l.Trigger == "" || l.Finding == "" ||
			(l.New == nil) == (l.Decorate == nil) {
			t.Errorf("%s: a field is empty: %+v", name, l)
		}
		if made[name] {
			t.Errorf("%s: the table has two entries with this name", name)
		}
		if got, ok := broken.Find(name); !ok || got.Bug != l.Bug {
			t.Errorf("%s: found %+v", name, got)
		}
		if l.Decorate != nil {
			if l.Check != broken.Comparison || sound[l.Sound] == nil || triggers[name] != nil {
				t.Errorf("%s: %+v", name, l)
			}
			made[name] = true
			continue
		}
		if !slices.Contains(
			[]broken.Check{broken.ServiceExclusion, broken.BeliefExclusion, broken.Tokens, broken.Liveness},
			l.Check,
		) {
			t.Errorf("%s: no such check: %q", name, l.Check)
		}
		if sound[l.Sound] == nil {
			t.Errorf("%s: no such recipe: %q", name, l.Sound)
		}
		if triggers[name] == nil {
			t.Errorf("%s: the lock has no trigger", name)
		}
		if broken.Mended[name] == nil && name != "queued-write" { // every lock on this client has that bug
			t.Errorf("%s: the mended lock is missing", name)
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

// bugs.json has nothing that no field of a lock takes, and every constructor has its bug there.
func TestEveryBugIsRead(t *testing.T) {
	text, err := os.ReadFile("bugs.json")
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	var all map[string][]broken.Lock
	if err := d.Decode(&all); err != nil {
		t.Error(err)
	}
	if len(all) != 3 || len(all["locks"])+len(all["foreign"])+len(all["others"]) != len(broken.Known()) {
		t.Errorf("%d groups with %d locks of %d", len(all), len(broken.Known()), len(all["locks"]))
	}
	for _, name := range broken.Made() {
		if l, known := broken.Find(name); !known || l.New == nil && l.Decorate == nil {
			t.Errorf("%s has a constructor, and no bug", name)
		}
	}
}
