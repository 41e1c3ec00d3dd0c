package lock

import (
	"locklab/recipes"
	"locklab/workloads"
)

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
