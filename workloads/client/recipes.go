package client

import (
	"context"
	"maps"
	"slices"

	"locklab/recipes"
)

// A source is a session of a recipe, with the locks in it. Only one goroutine uses it.
type source interface {
	// Done is closed when the session is over for good.
	Done() <-chan struct{}
	// Err says why it is over.
	Err() error
	Close(ctx context.Context) error
	// acquire waits for what is wanted until ctx ends; otherwise as [recipes.Lock].
	acquire(ctx context.Context, w want) (*grant, error)
}

// A downgrader is a source whose writers can become readers.
type downgrader interface {
	// downgrade returns a read hold beside a write hold that was granted, which stays.
	downgrade(ctx context.Context, write *grant) (*grant, error)
}

// An opener makes a source for a client, on a session of its own.
type opener func(ctx context.Context, c *client) (source, error)

// openers are the recipes in Go by the names that scenarios use. What else is known
// of them is said where scenarios are.
var openers = withBroken(map[string]opener{
	"mutex":           ours(mutex),
	"naive-mutex":     ours(naiveMutex),
	"rw":              ours(rw),
	"fair-rw":         ours(fairRW),
	"naive-rw":        ours(naiveRW),
	"semaphore":       ours(semaphore),
	"semaphore-mutex": ours(semaphoreMutex),
	"multi":           ours(mutex), // several of which are one
	"none":            ours(none),
	"zk-lock":         openZKLock,
})

// Recipes returns the names of the recipes that need no command, sorted.
func Recipes() []string { return slices.Sorted(maps.Keys(openers)) }

// A maker makes a lock of ours at a path. queued is told of the place in its queue.
type maker func(s *recipes.Session, path string, cfg *Config, queued func(ahead int)) (modal, error)

func mutex(s *recipes.Session, path string, _ *Config, queued func(int)) (modal, error) {
	l, err := recipes.NewMutex(recipes.MutexConfig{Session: s, Path: path, OnQueued: queued})
	return exclusively(l), err
}

func naiveMutex(s *recipes.Session, path string, _ *Config, queued func(int)) (modal, error) {
	l, err := recipes.NewNaiveMutex(recipes.NaiveConfig{Session: s, Path: path, OnQueued: queued})
	return exclusively(l), err
}

func rw(s *recipes.Session, path string, _ *Config, queued func(int)) (modal, error) {
	l, err := recipes.NewRW(recipes.RWConfig{Session: s, Path: path, OnQueued: queued})
	if err != nil {
		return modal{}, err
	}
	m := sides(l.Read(), l.Write())
	m.downgrade = l.ReadUnder
	return m, nil
}

func fairRW(s *recipes.Session, path string, _ *Config, queued func(int)) (modal, error) {
	l, err := recipes.NewFairRW(recipes.RWConfig{Session: s, Path: path, OnQueued: queued})
	if err != nil {
		return modal{}, err
	}
	return sides(l.Read(), l.Write()), nil
}

func naiveRW(s *recipes.Session, path string, _ *Config, queued func(int)) (modal, error) {
	l, err := recipes.NewNaiveRW(recipes.RWConfig{Session: s, Path: path, OnQueued: queued})
	if err != nil {
		return modal{}, err
	}
	return sides(l.Read(), l.Write()), nil
}

func semaphore(s *recipes.Session, path string, cfg *Config, queued func(int)) (modal, error) {
	sem := recipes.SemaphoreConfig{Session: s, Path: path, Max: cfg.Permits, OnQueued: queued}
	if cfg.Resize.Every > 0 {
		count, err := sharedPermits(s, path, cfg)
		if err != nil {
			return modal{}, err
		}
		sem.Max, sem.Count = 0, count
	}
	l, err := recipes.NewSemaphore(sem)
	if err != nil {
		return modal{}, err
	}
	return modal{permits: l.Of(cfg.Units)}, nil
}

func semaphoreMutex(s *recipes.Session, path string, _ *Config, queued func(int)) (modal, error) {
	l, err := recipes.NewSemaphoreMutex(recipes.SemaphoreMutexConfig{Session: s, Path: path, OnQueued: queued})
	return exclusively(l), err
}

func none(s *recipes.Session, _ string, _ *Config, _ func(int)) (modal, error) {
	l := recipes.NewNoLock(s.ID())
	return modal{write: l, read: l, permits: l}, nil
}

func exclusively(l recipes.Lock) modal { return modal{write: l} }

func sides(read, write recipes.Lock) modal { return modal{write: write, read: read} }
