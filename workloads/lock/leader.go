package lock

import (
	"locklab/ensembles/txnlog/nodes"
	"locklab/recipes"
	"locklab/workloads"
)

var leader = Recipe{
	Name: "leader",
	About: "An election. Candidates queue as those of `mutex` and of Curator's `LeaderSelector`, so they can be mixed; " +
		"a term is a hold. Give the workload a `term`, and the leader works until it has lost the lock.",
	Workloads: []string{workloads.Mutex},
	Layout:    nodes.LayoutQueue,
	Promises:  sound,
	Open: inSession(func(s *recipes.Session, path string, c *Client, queued func(int)) (modes, error) {
		l, err := recipes.NewLeader(recipes.LeaderConfig{Session: s, Path: path, ID: c.Name, OnQueued: queued})
		return modes{write: l}, err
	}),
}
