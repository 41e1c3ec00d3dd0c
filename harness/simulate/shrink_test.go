package simulate

import (
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/ensembles/labtest/suite"
	"locklab/workloads/lock"
)

// A violation is reduced to a run of which nothing can be left out, within 10 s.
func TestShrinks(t *testing.T) {
	last, names := uint64(2), []string{"broken-lost-wakeup"}
	if suite.All() || *recipe != "" {
		names = slices.DeleteFunc(Names(), func(n string) bool {
			return !strings.HasPrefix(n, "broken-") || *recipe != "" && n != *recipe
		})
		last = max(*seeds, 20)
	}
	var all, minimal, quick int
	var slowest time.Duration
	for _, name := range names {
		r, _ := lock.Find(name)
		violations, was, is := 0, Size{}, Size{}
		for seed := uint64(1); seed <= last && violations < 5; seed++ {
			run := Seed(r, seed, true)
			if !slices.ContainsFunc(run.Findings(), func(f Finding) bool { return f.Violation }) {
				continue
			}
			violations++
			all++
			x, err := shrink(t.Context(), run)
			if err != nil {
				t.Logf("%s: %v", name, err)
				continue
			}
			if x.minimal(t) {
				minimal++
				if x.Took <= 10*time.Second {
					quick++
				}
			} else {
				t.Logf("%s, seed %d: not minimal", name, seed)
			}
			if slowest = max(slowest, x.Took); x.Took > 5*time.Second || x.After.Turns > 12 {
				t.Logf("%s, seed %d: %s became %s in %s and %d runs", name, seed, x.Before, x.After, x.Took, x.Tries)
			}
			was, is = was.plus(x.Before), is.plus(x.After)
		}
		t.Logf("%s: %d violations: %s became %s", name, violations, was, is)
	}
	t.Logf("%d violations, %d minimal, %d of them within 10 s; the slowest took %s", all, minimal, quick, slowest)
	if all == 0 || quick*100 < all*95 {
		t.Errorf("of %d violations, %d were reduced to the minimum within 10 s", all, quick)
	}
}

func (s Size) plus(o Size) Size {
	return Size{Faults: s.Faults + o.Faults, Clients: s.Clients + o.Clients, Turns: s.Turns + o.Turns}
}

// The steps of a violation are told, and the one that decides is found: a predecessor goes before it is watched.
func TestTold(t *testing.T) {
	r, _ := lock.Find("broken-lost-wakeup")
	x, err := Shrink(t.Context(), Seed(r, 10, true))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	x.Print(&b)
	t.Log(b.String())
	for _, part := range []string{"asks for the lock", "'s znode lock-0000000000", "releases the lock", "decides ("} {
		if !strings.Contains(b.String(), part) {
			t.Errorf("no step says %q", part)
		}
	}
	last := x.Steps[len(x.Steps)-1]
	if !strings.HasSuffix(last.Text, "waits behind one other") || last.Still == nil || *last.Still != Branches {
		t.Errorf("the last step is %q, after which %v of %d runs show the violation", last.Text, last.Still, Branches)
	}
}

// minimal reports whether the run shows its violation, and does not without any one of its parts.
func (x *Shrunk) minimal(t *testing.T) bool {
	parts := x.plan.parts()
	s := &shrinker{ctx: t.Context(), of: *x.plan, want: x.Finding}
	if !s.shows(parts) {
		return false
	}
	for i := range parts {
		if s.shows(slices.Delete(slices.Clone(parts), i, i+1)) {
			return false
		}
	}
	return true
}
