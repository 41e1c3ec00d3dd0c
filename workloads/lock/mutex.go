package lock

import (
	"locklab/ensembles/txnlog/nodes"
	"locklab/recipes"
	"locklab/workloads"
)

// sound is what all exclusive locks of package recipes promise that have one znode for each contender.
var sound = Promises{Exclusive: true, Tokens: true, Queue: true, Clock: true}

var mutex = Recipe{
	Name: Mutex,
	About: "Curator's queue. Each client creates a sequential ephemeral znode and watches the one before it. " +
		"The fencing token is the znode's creation zxid.",
	Workloads: []string{workloads.Mutex, workloads.MultiLock},
	Layout:    nodes.LayoutQueue,
	Promises:  sound,
	Open:      inSession(newMutex),
}

var multi = Recipe{
	Name:      "multi",
	About:     "Several mutexes held as one.",
	Workloads: []string{workloads.MultiLock},
	Layout:    nodes.LayoutQueue,
	Promises:  Promises{Exclusive: true, Tokens: true, Queue: true, Clock: true, Several: true},
	Open:      inSession(newMutex), // several of which are one
}

func newMutex(s *recipes.Session, path string, _ *Client, queued func(int)) (modes, error) {
	l, err := recipes.NewMutex(recipes.MutexConfig{Session: s, Path: path, OnQueued: queued})
	return modes{write: l}, err
}
