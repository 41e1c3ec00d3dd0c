package simulate

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"locklab/ensembles/labtest/suite"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
	"locklab/workloads/lock"
)

var (
	seeds  = flag.Uint64("seeds", 0, "how many seeds of each recipe are run; 0 = 1, and 10 in nightly tests")
	first  = flag.Uint64("first", 12, "the first of them; holds are lost in 12")
	recipe = flag.String("recipe", "", "run only this recipe")
)

// sound are recipes whose runs must repeat, and that no check may accuse.
var sound = []string{"mutex", "rw", "semaphore", "leader", "naive-mutex", "naive-rw", "fair-rw", "semaphore-mutex"}

// givenUp are seeds of mutex in which a client gives up a write, because its guard forbids that a second and more after
// the news of its loss. Its call is recorded all the same, and the check of effects once accused the client of it.
var givenUp = []uint64{12, 13}

// No check accuses a client of a write that it gave up.
func TestGivenUp(t *testing.T) {
	r, _ := lock.Find(lock.Mutex)
	for _, seed := range givenUp {
		run := Seed(r, seed, true)
		gaveUp := false
		for i := range run.Events {
			gaveUp = gaveUp || run.Events[i].Op == history.OpWrite && run.Events[i].Access().GivenUp()
		}
		if !gaveUp || run.Report.Verdict != evidence.Pass {
			t.Errorf("seed %d: gave up a write: %t; %s: %v", seed, gaveUp, run.Report.Verdict, run.Findings())
		}
	}
}

// Removals of one attempt wait for each other, which must not keep the simulation from going on: in this seed it stood
// still for ever.
func TestRemovalsThatWait(t *testing.T) {
	r, _ := lock.Find(lock.NaiveMutex)
	if run := Seed(r, 5, true); run.Acquired < 200 || run.Report.Verdict != evidence.Pass {
		t.Errorf("%d acquisitions, %s: %v", run.Acquired, run.Report.Verdict, run.Findings())
	}
}

// last returns the first seed that is not run any more.
func last() uint64 {
	n := *seeds
	switch {
	case n == 0 && suite.All():
		n = 10
	case n == 0:
		n = 1
	}
	return *first + n
}

// each calls f with the recipes to test.
func each(t *testing.T, f func(t *testing.T, r lock.Recipe)) {
	for _, name := range sound {
		if *recipe == "" || name == *recipe {
			r, _ := lock.Find(name)
			t.Run(name, func(t *testing.T) { f(t, r) })
		}
	}
}

// No check accuses a sound recipe, and the faults put it to the test.
func TestSound(t *testing.T) {
	var held, struck int
	each(t, func(t *testing.T, r lock.Recipe) {
		begun := time.Now()
		var acquired int64
		for seed := *first; seed < last(); seed++ {
			run := Seed(r, seed, true)
			acquired += run.Acquired
			held += run.LostHolds
			for _, n := range run.Faults {
				struck += n
			}
			if run.Report.Verdict != evidence.Pass {
				t.Errorf("seed %d: %s: %v", seed, run.Report.Verdict, run.Findings())
			}
		}
		t.Logf("%d acquisitions, %.0f a second", acquired, float64(acquired)/time.Since(begun).Seconds())
		if acquired < int64(last()-*first)*200 {
			t.Errorf("only %d acquisitions", acquired)
		}
	})
	if held == 0 || struck < 10 {
		t.Errorf("%d holds were lost by %d faults", held, struck)
	}
}

// Two executions of a seed are the same in every event, on one processor and on two, with faults and without. Without
// any, they are compared in nightly tests.
func TestRepeats(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	each(t, func(t *testing.T, r lock.Recipe) {
		for seed := *first; seed < last(); seed++ {
			for _, faults := range []bool{true, false} {
				if !faults && *seeds == 0 && !suite.All() {
					continue
				}
				runtime.GOMAXPROCS(1)
				a := Seed(r, seed, faults)
				runtime.GOMAXPROCS(2)
				if b := Seed(r, seed, faults); a.Hash() != b.Hash() {
					t.Errorf("seed %d, faults %t: %s", seed, faults, difference(a, b))
				}
			}
		}
	})
	r, _ := lock.Find("mutex")
	if Seed(r, 1, true).Hash() == Seed(r, 2, true).Hash() {
		t.Error("the seed does not matter")
	}
}

// difference says where two runs begin to differ.
func difference(a, b *Run) string {
	for i := range min(len(a.Events), len(b.Events)) {
		if x, y := a.Events[i].String(), b.Events[i].String(); x != y {
			return fmt.Sprintf("event %d\n%s\n%s", i, x, y)
		}
	}
	for i := range min(len(a.txns), len(b.txns)) {
		if x, y := fmt.Sprint(a.txns[i]), fmt.Sprint(b.txns[i]); x != y {
			return fmt.Sprintf("transaction %d\n%s\n%s", i, x, y)
		}
	}
	return fmt.Sprintf("%d and %d events, %d and %d transactions", len(a.Events), len(b.Events), len(a.txns), len(b.txns))
}

// A campaign that goes on where it was killed, in the middle of a line, runs the seeds that are left and comes to the
// same. It runs what it found again, and tells what was new.
func TestGoesOn(t *testing.T) {
	r, _ := lock.Find("broken-lost-wakeup")
	dir := filepath.Join(t.TempDir(), "kept")
	plan := Plan{Model: Model, Recipes: []string{r.Name}, First: 1, Last: 6, Faults: true}
	if err := plan.Begin(dir); err != nil {
		t.Fatal(err)
	}
	var states []string
	campaign := func(before []Outcome) Campaign {
		return Campaign{Plan: Plan{First: 1, Last: 6, Faults: true}, Recipe: r, Before: before,
			Found:    func(f Finding) { states = append(states, f.State) },
			Done:     func(o Outcome) error { return o.Keep(dir) },
			Progress: func(Totals) {}}
	}
	whole := campaign(nil)
	whole.Recipe.Control = false // its bug is not known
	want, err := whole.Execute(t.Context())
	if err != nil || want.Violations == 0 || states[0] != Fresh {
		t.Fatalf("%+v, %v, findings %v", want, err, states)
	}
	name := filepath.Join(dir, outcomesFile)
	text, err := os.ReadFile(name)
	if err == nil {
		err = os.WriteFile(name, text[:len(text)-20], 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	before, err := plan.Outcomes(dir)
	if err != nil || len(before) != 5 {
		t.Fatalf("%d outcomes, %v", len(before), err)
	}
	rest := campaign(before)
	got, err := rest.Execute(t.Context())
	if got.Took = want.Took; err != nil || !cmp.Equal(want, got) {
		t.Errorf("%v\n%s", err, cmp.Diff(want, got))
	}
	all, err := plan.Outcomes(dir)
	if err != nil || len(all) != 6 {
		t.Errorf("%d outcomes, %v", len(all), err)
	}
	states = nil
	if text, err = os.ReadFile(name); err != nil {
		t.Fatal(err)
	}
	rest = campaign(all)
	if err := rest.Recheck(t.Context()); err != nil || len(states) == 0 || slices.Contains(states, Gone) {
		t.Errorf("run again, the findings are %v, %v", states, err)
	}
	if again, err := os.ReadFile(name); err != nil || !bytes.Equal(text, again) {
		t.Errorf("outcomes that did not change became others: %v\n%s", err, cmp.Diff(string(text), string(again)))
	}
}

// What a seed does not show any more when it is run again counts no longer, in this process and in the next.
func TestResolved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kept")
	plan := Plan{Model: Model, Recipes: []string{lock.Mutex}, First: 1, Last: 4, Faults: true}
	if err := plan.Begin(dir); err != nil {
		t.Fatal(err)
	}
	r, _ := lock.Find(lock.Mutex)
	for seed := range uint64(3) {
		o := Outcome{Model: Model, Seed: seed + 1, TotalsFor: TotalsFor{r.Name, Totals{Seeds: 1, Violations: 1, Took: 5}},
			Findings: []Finding{{Recipe: r.Name, Seed: seed + 1, Check: "effect", Violation: true, State: Fresh}}}
		if err := o.Keep(dir); err != nil {
			t.Fatal(err)
		}
	}
	var states []string
	for _, want := range [][]string{{Gone, Gone, Gone}, nil} {
		before, err := plan.Outcomes(dir)
		if err != nil || len(before) != 3 {
			t.Fatalf("%d outcomes, %v", len(before), err)
		}
		states = nil
		c := Campaign{Recipe: r, Plan: plan, Before: before, Found: func(f Finding) { states = append(states, f.State) },
			Done: func(o Outcome) error { return o.Keep(dir) }, Progress: func(Totals) {}}
		if err := c.Recheck(t.Context()); err != nil || !slices.Equal(states, want) {
			t.Fatalf("the findings are %v, want %v; %v", states, want, err)
		}
		totals, err := c.Execute(t.Context())
		if err != nil || totals.Seeds != 4 || totals.Violations != 0 || totals.Acquired == 0 {
			t.Errorf("%+v, %v", totals, err)
		}
		if err := os.Truncate(filepath.Join(dir, outcomesFile), sizeWithout(t, dir, 4)); err != nil {
			t.Fatal(err)
		}
	}
}

// sizeWithout returns the size of the outcomes' file up to the first outcome of a seed.
func sizeWithout(t *testing.T, dir string, seed uint64) int64 {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, outcomesFile))
	if err != nil {
		t.Fatal(err)
	}
	before, _, found := bytes.Cut(text, []byte(fmt.Sprintf(`{"model":%d,"seed":%d,`, Model, seed)))
	if !found {
		t.Fatalf("no outcome of seed %d: %s", seed, text)
	}
	return int64(len(before))
}

// A directory of another model, and one with a line that is no outcome, are refused.
func TestRefusedDirectories(t *testing.T) {
	dir := t.TempDir()
	plan := Plan{Recipes: []string{"mutex"}, First: 1, Last: 2}
	for text, want := range map[string]string{
		`{"model": 2, "recipes": ["mutex"], "first": 1, "last": 2}`: "made by another model: 2, and this locklab has 4",
		`{"model": 4, "recipes": [], "first": 1, "last": 2}`:        "it names no recipe or no seed",
		`{`: "unexpected end of JSON input",
	} {
		if err := os.WriteFile(filepath.Join(dir, planFile), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadPlan(dir); !errors.Is(err, ErrNoSimulation) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for text, want := range map[string]string{
		"{\"model\": 4}\nnonsense\n":                           "line 2: invalid character",
		"{\"model\": 4, \"recipe\": \"mutex\", \"seed\": 3}\n": "line 1: the plan has no seed 3 of mutex",
		"{\"model\": 2}\n":                                     "line 1: schema_version is 2, and this locklab reads 4",
	} {
		if err := os.WriteFile(filepath.Join(dir, outcomesFile), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := plan.Outcomes(dir); !errors.Is(err, ErrNoSimulation) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Seeds go on until the sessions lasted long enough together.
func TestHours(t *testing.T) {
	r, _ := lock.Find(lock.Mutex)
	c := Campaign{Plan: Plan{First: 1, Last: 1000, Hours: 0.01}, Recipe: r, Found: func(Finding) {},
		Progress: func(Totals) {}}
	totals, err := c.Execute(t.Context())
	if err != nil || totals.Sessions.Hours() < 0.01 || totals.Seeds > 20 {
		t.Errorf("%+v, %v", totals, err)
	}
}

// Locks with known bugs are found without being told when.
func TestBroken(t *testing.T) {
	for _, name := range []string{"broken-lost-wakeup", "broken-later-writers"} {
		r, _ := lock.Find(name)
		var found []Finding
		c := Campaign{Plan: Plan{First: 1, Last: 20, Faults: true}, Recipe: r, StopAtFinding: true,
			Found: func(f Finding) { found = append(found, f) }, Progress: func(Totals) {}}
		totals, err := c.Execute(t.Context())
		if err != nil || totals.Violations != 1 || len(found) == 0 || found[0].Check != string(evidence.Liveness) {
			t.Errorf("%s: %+v, %v, %v", name, totals, found, err)
		} else if found[0].State != Known {
			t.Errorf("%s has that bug, and the finding is %s", name, found[0].State)
		}
	}
}

// The examples show what they are to teach: each of their lessons meets a step of one.
func TestExamples(t *testing.T) {
	var told strings.Builder
	for _, x := range examples {
		Explain(x.name).Print(&told)
	}
	for _, l := range slices.Concat(lessons, examples[0].lessons, outlived) {
		if !strings.Contains(told.String(), l.says) {
			t.Errorf("no step has %q", l.words)
		}
	}
	if Explain("none") != nil {
		t.Error("there is no such example")
	}
}
