package client

import (
	"strings"

	"locklab/recipes"
)

// A Recipe says how to make a lock and what it promises.
type Recipe struct {
	// New makes a lock at path for clients of session; queued is told of the place
	// in the queue, with how many are ahead. Nil if the recipe is foreign.
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
	// Foreign: the lock is in a command that speaks the lock protocol, of package
	// foreign.
	Foreign bool
	// MayToken: whether grants carry tokens is not known before there are some.
	MayToken bool
}

// ExecPrefix begins the name of a recipe that is anybody's own command.
const ExecPrefix = "exec:"

// FindRecipe returns the recipe of that name. About anybody's own, nothing is known
// but that it is meant to be exclusive.
func FindRecipe(name string) (Recipe, bool) {
	if strings.HasPrefix(name, ExecPrefix) {
		return Recipe{Exclusive: true, Foreign: true, MayToken: true}, true
	}
	r, ok := Recipes[name]
	return r, ok
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
	"curator-mutex":           {Exclusive: true, Tokens: true, Queue: true, Foreign: true},
	"curator-semaphore-mutex": {Exclusive: true, Tokens: true, Foreign: true},
	"curator-rw":              {Exclusive: true, Tokens: true, Queue: true, Foreign: true},
	"curator-multi":           {Exclusive: true, Tokens: true, Queue: true, Foreign: true},
	"curator-semaphore":       {Exclusive: true, Foreign: true},
}
