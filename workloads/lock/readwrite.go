package lock

import (
	"locklab/ensembles/txnlog/nodes"
	"locklab/recipes"
	"locklab/workloads"
)

var readWrite = Recipe{
	Name: "rw",
	About: "Curator's read/write queue. A reader watches the last writer before it. A writer can become a reader in " +
		"one transaction.",
	Workloads: []string{workloads.ReadWrite, workloads.Mutex},
	Layout:    nodes.LayoutReadWrite,
	Promises:  Promises{Exclusive: true, Tokens: true, Queue: true, Clock: true, Downgrade: true},
	Open: inSession(func(s *recipes.Session, path string, _ *Client, queued func(int)) (modes, error) {
		l, err := recipes.NewRW(recipes.RWConfig{Session: s, Path: path, OnQueued: queued})
		if err != nil {
			return modes{}, err
		}
		return modes{write: l.Write(), read: l.Read(), downgrade: l.ReadUnder}, nil
	}),
}

var fairReadWrite = Recipe{
	Name:      "fair-rw",
	About:     "The textbook's read/write lock, with the watches of `rw`.",
	Workloads: []string{workloads.ReadWrite, workloads.Mutex},
	Layout:    nodes.LayoutTextbook,
	Promises:  sound,
	Open:      textbook(recipes.NewFairRW),
}

var naiveReadWrite = Recipe{
	Name:      "naive-rw",
	About:     "The textbook's read/write lock in which every arrival and departure wakes everybody.",
	Workloads: []string{workloads.ReadWrite, workloads.Mutex},
	Layout:    nodes.LayoutTextbook,
	Promises:  sound,
	Open:      textbook(recipes.NewNaiveRW),
}

// textbook opens a read/write lock whose writers stay writers.
func textbook[L interface {
	Write() recipes.TryLock
	Read() recipes.TryLock
}](
	open func(recipes.RWConfig) (L, error)) Opener {
	return inSession(func(s *recipes.Session, path string, _ *Client, queued func(int)) (modes, error) {
		l, err := open(recipes.RWConfig{Session: s, Path: path, OnQueued: queued})
		if err != nil {
			return modes{}, err
		}
		return modes{write: l.Write(), read: l.Read()}, nil
	})
}

var semaphore = Recipe{
	Name:      "semaphore",
	About:     "Permits behind a mutex. One transaction takes all the permits of an acquisition.",
	Workloads: []string{workloads.Semaphore},
	Layout:    nodes.LayoutSemaphore,
	Seen:      SeenNot,
	Promises:  Promises{Exclusive: true, Tokens: true, Slots: true, Queue: true, Clock: true, Resizes: true},
	Open:      inSession(newSemaphore),
}

var semaphoreMutex = Recipe{
	Name:      "semaphore-mutex",
	About:     "A `semaphore` with one permit.",
	Workloads: []string{workloads.Mutex},
	Layout:    nodes.LayoutSemaphore,
	Seen:      SeenLeases,
	// Its token is that of its lease, which it gets with the grant, so the order of the tokens does not show the
	// order of the queue.
	Promises: Promises{Exclusive: true, Tokens: true, Clock: true},
	Open: inSession(func(s *recipes.Session, path string, _ *Client, queued func(int)) (modes, error) {
		l, err := recipes.NewSemaphoreMutex(recipes.SemaphoreMutexConfig{Session: s, Path: path, OnQueued: queued})
		return modes{write: l}, err
	}),
}

func newSemaphore(s *recipes.Session, path string, c *Client, queued func(int)) (modes, error) {
	cfg := recipes.SemaphoreConfig{Session: s, Path: path, Max: c.Permits, OnQueued: queued}
	if c.Resizes {
		count, err := Permits(s, path, c.Permits)
		if err != nil {
			return modes{}, err
		}
		cfg.Max, cfg.Count = 0, count
	}
	l, err := recipes.NewSemaphore(cfg)
	if err != nil {
		return modes{}, err
	}
	return modes{permits: l.Of(c.Units)}, nil
}

// Permits returns the number of a semaphore's permits if that changes during a run, from a znode beside the
// semaphore. It begins with the given number.
func Permits(s *recipes.Session, lock string, begin int) (*recipes.SharedCount, error) {
	cfg := recipes.SharedCountConfig{Session: s, Path: beside(lock, "permits"), Seed: int32(begin)}
	return recipes.NewSharedCount(cfg)
}
