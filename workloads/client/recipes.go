package client

import "locklab/recipes"

// A Recipe says how to make a lock and what it promises.
type Recipe struct {
	// New makes a lock at path for clients of session; queued is told of the place
	// in the queue, with how many are ahead.
	New func(session *recipes.Session, path string, queued func(ahead int)) (recipes.Lock, error)
	// Exclusive: at most one client holds the lock at the servers.
	Exclusive bool
	// Tokens: grants carry rising fencing tokens.
	Tokens bool
	// Queue: the lock is granted in the order of the clients' znodes.
	Queue bool
	// HeadNode: the lock's path itself is the holder's znode, not a directory of
	// contenders.
	HeadNode bool
}

// Recipes are the lock algorithms by the names that scenarios use.
var Recipes = map[string]Recipe{
	"mutex": {Exclusive: true, Tokens: true, Queue: true,
		New: func(s *recipes.Session, path string, queued func(int)) (recipes.Lock, error) {
			return recipes.NewMutex(recipes.MutexConfig{Session: s, Path: path, OnQueued: queued})
		}},
	"naive-mutex": {Exclusive: true, Tokens: true, HeadNode: true,
		New: func(s *recipes.Session, path string, queued func(int)) (recipes.Lock, error) {
			return recipes.NewNaiveMutex(recipes.NaiveConfig{Session: s, Path: path, OnQueued: queued})
		}},
	"none": {New: func(s *recipes.Session, path string, _ func(int)) (recipes.Lock, error) {
		return recipes.NewNoLock(s.ID()), nil
	}},
}
