package client

import (
	"slices"
	"strings"
	"testing"

	"locklab/harness/history"
	"locklab/workloads"
	"locklab/workloads/lock"
)

// drawn returns what a client of cfg wants, n times.
func drawn(cfg config, n int) []lock.Want {
	c := newClient(&process{cfg: cfg}, 0)
	var all []lock.Want
	for range n {
		all = append(all, c.choose())
	}
	return all
}

// The wants have the shares that the configuration asks for: of 10,000, within four standard deviations.
func TestChooseKeepsToShares(t *testing.T) {
	cfg := valid()
	cfg.Workload, cfg.ReadShare, cfg.DowngradeShare, cfg.Seed = workloads.ReadWrite, 0.75, 0.5, 7
	reads, downgrades := 0, 0
	const n = 10_000
	for _, w := range drawn(cfg, n) {
		switch {
		case w.Mode == history.ModeRead && !w.Downgrade:
			reads++
		case w.Mode == history.ModeRead:
			t.Fatal("a reader downgrades")
		case w.Mode != history.ModeWrite:
			t.Fatalf("mode %q", w.Mode)
		case w.Downgrade:
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

func TestChoosePermits(t *testing.T) {
	cfg := valid()
	cfg.Workload, cfg.Permits, cfg.Units = workloads.Semaphore, 4, 3
	for _, w := range drawn(cfg, 3) {
		if w.Mode != history.ModePermit || w.Units != 3 || !slices.Equal(w.Paths, cfg.Locks) {
			t.Errorf("wants %+v", w)
		}
	}
}

// Several locks are all different, and each set is as likely as any other. They come in order if that is asked for,
// and otherwise in any order.
func TestChooseSeveral(t *testing.T) {
	cfg := valid()
	cfg.Workload, cfg.Locks, cfg.LocksAtOnce = workloads.MultiLock, []string{"/b", "/a", "/c"}, 2
	for _, ordered := range []bool{true, false} {
		cfg.Ordered = ordered
		seen := map[string]int{}
		for _, w := range drawn(cfg, 600) {
			seen[w.Paths[0]+w.Paths[1]]++
			if len(w.Paths) != 2 || w.Mode != history.ModeExclusive {
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

// A client that is dealt a lock knows no other, and locks that need several know all.
func TestDealtClientsHaveOneLock(t *testing.T) {
	cfg := valid()
	cfg.Locks = []string{"/a", "/b", "/c"}
	for _, c := range []struct {
		workload string
		dealt    bool
		want     string
	}{
		{workloads.Mutex, false, "/a,/b,/c"},
		{workloads.Mutex, true, "/b"},
		{workloads.MultiLock, true, "/a,/b,/c"},
	} {
		cfg.Workload, cfg.LockChoice.Dealt = c.workload, c.dealt
		if got := strings.Join(newClient(&process{cfg: cfg}, 4).described().Locks, ","); got != c.want {
			t.Errorf("%s, dealt %t: %s, want %s", c.workload, c.dealt, got, c.want)
		}
	}
}
