package client

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"locklab/harness/history"
	"locklab/workloads"
)

// drawn is what a client of cfg wants, n times.
func drawn(cfg Config, n int) []want {
	c := newClient(&process{cfg: cfg}, 0)
	var all []want
	for range n {
		all = append(all, c.choose())
	}
	return all
}

// What is wanted has the shares that the configuration asks for: of 10,000, within
// four standard deviations.
func TestChooseKeepsToShares(t *testing.T) {
	cfg := valid()
	cfg.Workload, cfg.ReadShare, cfg.DowngradeShare, cfg.Seed = WorkloadReadWrite, 0.75, 0.5, 7
	reads, downgrades := 0, 0
	const n = 10_000
	for _, w := range drawn(cfg, n) {
		switch {
		case w.mode == history.ModeRead && !w.downgrade:
			reads++
		case w.mode == history.ModeRead:
			t.Fatal("a reader downgrades")
		case w.mode != history.ModeWrite:
			t.Fatalf("mode %q", w.mode)
		case w.downgrade:
			downgrades++
		}
	}
	if reads < 7500-174 || reads > 7500+174 { // √(10000·0.75·0.25) = 43.3
		t.Errorf("%d of %d read, want about 7500", reads, n)
	}
	if downgrades < 1250-133 || downgrades > 1250+133 { // √(10000·0.125·0.875) = 33.1
		t.Errorf("%d of %d downgrade, want about 1250", downgrades, n)
	}
}

// In a burst everybody reads; after it, as usual.
func TestReadBursts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := valid()
		cfg.Workload, cfg.ReadShare, cfg.ReadBurst = WorkloadReadWrite, 0, workloads.Burst{Length: time.Second, Every: 5 * time.Second}
		c, _ := contender(t, cfg, nil)
		c.p.start = c.p.rec.Clock().Now()
		for at, want := range []string{history.ModeRead, history.ModeWrite, history.ModeWrite, history.ModeWrite, history.ModeWrite, history.ModeRead, history.ModeWrite} {
			if got := c.choose().mode; got != want {
				t.Errorf("after %d s: %s, want %s", at, got, want)
			}
			time.Sleep(time.Second)
		}
	})
}

func TestChoosePermits(t *testing.T) {
	cfg := valid()
	cfg.Workload, cfg.Permits, cfg.Units = WorkloadSemaphore, 4, 3
	for _, w := range drawn(cfg, 3) {
		if w.mode != history.ModePermit || w.units != 3 || !slices.Equal(w.paths, cfg.Locks) {
			t.Errorf("wants %+v", w)
		}
	}
}

// Several locks are different ones, each as likely as the others; in their order if that is asked
// for, else in any.
func TestChooseSeveral(t *testing.T) {
	cfg := valid()
	cfg.Workload, cfg.Locks, cfg.LocksPerAcquire = WorkloadMultiLock, []string{"/b", "/a", "/c"}, 2
	for _, ordered := range []bool{true, false} {
		cfg.Ordered = ordered
		seen := map[string]int{}
		for _, w := range drawn(cfg, 600) {
			seen[w.paths[0]+w.paths[1]]++
			if len(w.paths) != 2 || w.mode != history.ModeExclusive {
				t.Fatalf("wants %+v", w)
			}
		}
		want := []string{"/b/a", "/b/c", "/a/c"}
		if !ordered {
			want = append(want, "/a/b", "/c/b", "/c/a")
		}
		for _, pair := range want {
			if seen[pair] < 60 {
				t.Errorf("ordered %t: %s was drawn %d times of 600", ordered, pair, seen[pair])
			}
			delete(seen, pair)
		}
		if len(seen) > 0 {
			t.Errorf("ordered %t: drew %v", ordered, seen)
		}
	}
}
