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
	Open: inSession(func(s *recipes.Session, path string, _ *Client, queued func(int)) (modes, error) {
		l, err := recipes.NewFairRW(recipes.RWConfig{Session: s, Path: path, OnQueued: queued})
		if err != nil {
			return modes{}, err
		}
		return modes{write: l.Write(), read: l.Read()}, nil
	}),
}

var naiveReadWrite = Recipe{
	Name:      "naive-rw",
	About:     "The textbook's read/write lock in which every arrival and departure wakes everybody.",
	Workloads: []string{workloads.ReadWrite, workloads.Mutex},
	Layout:    nodes.LayoutTextbook,
	Promises:  sound,
	Open: inSession(func(s *recipes.Session, path string, _ *Client, queued func(int)) (modes, error) {
		l, err := recipes.NewNaiveRW(recipes.RWConfig{Session: s, Path: path, OnQueued: queued})
		if err != nil {
			return modes{}, err
		}
		return modes{write: l.Write(), read: l.Read()}, nil
	}),
}
