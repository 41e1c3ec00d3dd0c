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

var leader = Recipe{
	Name: "leader",
	About: "An election. Candidates queue as those of `mutex` and of Curator's `LeaderSelector`, so they can be mixed; " +
		"a term is a hold. With a `term`, a leader works that long unless it loses the lock.",
	Workloads: []string{workloads.Mutex},
	Layout:    nodes.LayoutQueue,
	Promises:  sound,
	Open: inSession(func(s *recipes.Session, path string, c *Client, queued func(int)) (modes, error) {
		l, err := recipes.NewLeader(recipes.LeaderConfig{Session: s, Path: path, ID: c.Name, OnQueued: queued})
		return modes{write: l}, err
	}),
}

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

var none = Recipe{
	Name:      None,
	About:     "No lock at all. It shows that the checks can fail.",
	Workloads: workloads.All,
	Seen:      SeenNot,
	Promises:  Promises{Several: true, Unchecked: "has no znode to check"},
	Open: inSession(func(s *recipes.Session, _ string, _ *Client, _ func(int)) (modes, error) {
		l := recipes.NewNoLock(s.ID())
		return modes{write: l, read: l, permits: l}, nil
	}),
}
