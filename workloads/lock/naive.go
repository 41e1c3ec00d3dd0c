package lock

import (
	"locklab/ensembles/txnlog/nodes"
	"locklab/recipes"
	"locklab/workloads"
)

var naiveMutex = Recipe{
	Name: NaiveMutex,
	About: "One ephemeral znode. The client that creates it holds the lock. All others watch it, and all of them wake " +
		"up when it goes.",
	Workloads: []string{workloads.Mutex},
	Layout:    nodes.LayoutZnode,
	Seen:      SeenNode,
	Promises: Promises{Exclusive: true, Tokens: true, Clock: true,
		Unchecked: "has one znode for all holders, so a check of it passes on the next one's"},
	Open: inSession(func(s *recipes.Session, path string, _ *Client, queued func(int)) (modes, error) {
		l, err := recipes.NewNaiveMutex(recipes.NaiveConfig{Session: s, Path: path, OnQueued: queued})
		return modes{write: l}, err
	}),
}
