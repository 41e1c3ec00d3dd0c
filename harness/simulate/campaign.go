package simulate

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"locklab/harness/check/evidence"
	"locklab/recipes/broken"
	"locklab/workloads"
	"locklab/workloads/lock"
)

// Model is the version of what a seed means. A seed of another version is another run.
const Model = 4

// A Campaign runs many seeds of a recipe, on all processors.
type Campaign struct {
	Plan
	Recipe lock.Recipe // one of the plan's
	// Before are the outcomes of seeds of the recipe that were run already.
	Before []Outcome
	// StopAtFinding ends it at the first violation.
	StopAtFinding bool
	// Found is called with each finding, Done, if it is set, with each outcome, and Progress about once a second. No two
	// calls happen at the same time. An error of Done ends the campaign.
	Found    func(Finding)
	Done     func(Outcome) error
	Progress func(Totals)

	_ struct{} // no positional literals
}

// Totals are what a campaign came to.
type Totals struct {
	Seeds      uint64         `json:"seeds"`
	Of         uint64         `json:"of,omitempty"`
	Acquired   int64          `json:"acquired"`
	Sessions   time.Duration  `json:"sessions_ns"` // what all sessions lasted together
	Virtual    time.Duration  `json:"virtual_ns"`
	Took       time.Duration  `json:"took_ns"`
	Expired    int            `json:"expired"`    // sessions, by the servers
	LostHolds  int            `json:"lost_holds"` // whose clients were told
	Violations int            `json:"violations"` // runs
	Unknown    int            `json:"unknown"`
	Faults     map[string]int `json:"faults"` // that struck, by kind
}

// TotalsFor are those of a recipe.
type TotalsFor struct {
	Recipe string `json:"recipe"`
	Totals
}

// Struck is how many faults struck.
func (t Totals) Struck() (n int) {
	for _, k := range t.Faults {
		n += k
	}
	return n
}

// Kinds returns the kinds of the faults that struck, sorted.
func (t Totals) Kinds() []string { return slices.Sorted(maps.Keys(t.Faults)) }

// A Finding is what a check found in a run of one seed.
type Finding struct {
	Recipe string `json:"recipe"`
	Seed   uint64 `json:"seed"`
	Check  string `json:"check"`
	// Violation says that something is broken. Otherwise the run did not show what the check needs.
	Violation bool   `json:"violation"`
	Kind      string `json:"kind,omitempty"`
	Text      string `json:"text"`
	// At is when it was, if Kind says what.
	At    time.Duration `json:"at_ns,omitempty"`
	State string        `json:"state"`
	// Reproduce is the command that shows it again, where findings are printed.
	Reproduce string `json:"reproduce,omitempty"`
}

// The states of a finding.
const (
	Fresh = "new"      // no earlier seed showed the same
	Known = "known"    // an earlier one did, or it is the known bug of the recipe
	Gone  = "resolved" // the seed that showed it does not show it any more
)

// key is what the same findings have in common.
func (f Finding) key() string { return fmt.Sprint(f.Recipe, f.Check, f.Kind, f.Violation) }

func (f Finding) String() string {
	result := "unknown"
	if f.Violation {
		result = "violation"
	}
	return fmt.Sprintf("%s, seed %d: %s %s: %s: %s", f.Recipe, f.Seed, f.State, result, f.Check, f.Text)
}

// Findings returns what the checks of a run found that should not be there, or could not tell.
func (r *Run) Findings() (all []Finding) {
	for i := range r.Report.Checks {
		v := &r.Report.Checks[i]
		outcome := v.Outcome()
		if outcome != evidence.Fail && outcome != evidence.Unknown {
			continue
		}
		f := Finding{Recipe: r.Recipe, Seed: r.Seed, Check: v.Name, Violation: outcome == evidence.Fail, Text: v.Summary}
		if f.Violation && len(v.Findings) > 0 {
			first := &v.Findings[0]
			f.Kind, f.Text, f.At = string(first.Kind), first.Text, time.Duration(first.At)
		}
		all = append(all, f)
	}
	return all
}

// collectAt is the garbage collector's target, in percent of the memory in use: more than usual. A run leaves much
// behind that is garbage at once, and memory does not grow with the number of runs.
const collectAt = 400

// Execute runs the seeds, and returns what they came to. Its error is that of Done, or of ctx if that
// ended first: then the seeds that had begun are not counted.
func (c *Campaign) Execute(ctx context.Context) (Totals, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(collectAt))
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	t := Totals{Of: c.Last - c.First + 1, Faults: map[string]int{}}
	ran, seen := map[uint64]bool{}, c.seen()
	for _, o := range c.Before {
		ran[o.Seed] = true
		t.add(o.Totals)
	}
	next, told, last := c.First, time.Now(), time.Now()
	var mu sync.Mutex
	var workers sync.WaitGroup
	var failed error
	stopped := false
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for {
				mu.Lock()
				for ran[next] {
					next++
				}
				seed := next
				over := next > c.Last || ctx.Err() != nil || c.Hours > 0 && t.Sessions.Hours() >= c.Hours
				next++
				mu.Unlock()
				if over {
					return
				}
				run := Seed(c.Recipe, seed, c.Faults)
				mu.Lock()
				if ctx.Err() == nil {
					o := run.Outcome()
					now := time.Now()
					o.Took, last = now.Sub(last), now
					t.add(o.Totals)
					stopped = c.tell(o.Findings, seen) && c.StopAtFinding
					if c.Done != nil {
						failed = c.Done(o)
						stopped = stopped || failed != nil
					}
					if now.Sub(told) >= time.Second {
						told = now
						c.Progress(t)
					}
				}
				if stopped {
					stop()
				}
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	if stopped {
		return t, failed
	}
	return t, ctx.Err()
}

// tell sets the states of findings by those that were seen before, and hands them on. It reports whether there is a
// violation among them.
func (c *Campaign) tell(findings []Finding, seen map[string]bool) (violation bool) {
	for i := range findings {
		f := &findings[i]
		f.State = Fresh
		if seen[f.key()] || hasBug(c.Recipe, *f) {
			f.State = Known
		}
		seen[f.key()] = true
		c.Found(*f)
		violation = violation || f.Violation
	}
	return violation
}

// hasBug reports whether a finding is what the known bug of a recipe shows.
func hasBug(r lock.Recipe, f Finding) bool {
	bug, known := broken.Find(strings.TrimPrefix(r.Name, lock.ControlPrefix))
	return known && r.Control && f.Violation && string(bug.Check) == f.Check && slices.Contains(bug.Kinds, f.Kind)
}

// Outcome is what the run came to.
func (r *Run) Outcome() Outcome {
	t := Totals{Seeds: 1, Acquired: r.Acquired, Sessions: r.Sessions, Virtual: r.Virtual, Expired: r.Expired,
		LostHolds: r.LostHolds, Faults: r.Faults}
	switch r.Report.Verdict {
	case evidence.Fail:
		t.Violations = 1
	case evidence.Unknown:
		t.Unknown = 1
	}
	return Outcome{Model: Model, Seed: r.Seed, TotalsFor: TotalsFor{r.Recipe, t}, Findings: r.Findings()}
}

// add adds what more seeds came to.
func (t *Totals) add(more Totals) {
	t.Seeds += more.Seeds
	t.Acquired += more.Acquired
	t.Sessions += more.Sessions
	t.Virtual += more.Virtual
	t.Took += more.Took
	t.Expired += more.Expired
	t.LostHolds += more.LostHolds
	t.Violations += more.Violations
	t.Unknown += more.Unknown
	for k, n := range more.Faults {
		t.Faults[k] += n
	}
}

// Refusal says why a recipe cannot be simulated; empty if it can.
func Refusal(r lock.Recipe) string {
	switch {
	case r.Foreign || r.Open == nil:
		return "it is a program of its own"
	case r.Workloads[0] == workloads.MultiLock:
		return "several locks at once are not simulated"
	case r.Name == "zk-lock":
		return "its client does not always end"
	case r.Name == lock.None:
		return "it is no lock"
	}
	return ""
}

// Names returns the names of the recipes that can be simulated.
func Names() []string {
	return slices.DeleteFunc(lock.Names(), func(n string) bool {
		r, _ := lock.Find(n)
		return Refusal(r) != ""
	})
}
