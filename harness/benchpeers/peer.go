package benchpeers

import (
	"context"

	"github.com/go-zookeeper/zk"

	"locklab/recipes"
	"locklab/recipes/zksession"
)

// The peers.
const (
	Mutex        = "mutex"         // recipes.Mutex
	SparseMutex  = "mutex-sparse"  // the same with SparseLists
	ZKLock       = "zk-lock"       // go-zookeeper's zk.Lock
	CuratorMutex = "curator-mutex" // Curator's InterProcessMutex, which has a process of its own
)

// Peers lists the locks that are compared, ours first and Curator's last.
var Peers = []string{Mutex, SparseMutex, ZKLock, CuratorMutex}

// A contender is one client: a session with a lock on it.
type contender struct {
	acquire, release, close func(context.Context) error
}

// contenders connects a client of each peer that is written in Go, for the lock at a path.
var contenders = map[string]func(ctx context.Context, session zksession.Config, path string) (contender, error){
	Mutex:       mutexOf(recipes.MutexConfig{}),
	SparseMutex: mutexOf(recipes.MutexConfig{SparseLists: true}),
	ZKLock:      connectZKLock,
}

func mutexOf(cfg recipes.MutexConfig) func(context.Context, zksession.Config, string) (contender, error) {
	return func(ctx context.Context, session zksession.Config, path string) (contender, error) {
		s, err := recipes.Connect(ctx, recipes.SessionConfig{Config: session})
		if err != nil {
			return contender{}, err
		}
		cfg := cfg
		cfg.Session, cfg.Path = s, path
		l, err := recipes.NewMutex(cfg)
		var hold *recipes.Hold
		return contender{
			acquire: func(ctx context.Context) (err error) { hold, err = l.Acquire(ctx); return err },
			release: func(ctx context.Context) error { return hold.Release(ctx) },
			close:   s.Close,
		}, err
	}
}

// connectZKLock uses zk.Lock without recipes.ZKLock around it, whose goroutines would count.
func connectZKLock(ctx context.Context, session zksession.Config, path string) (contender, error) {
	c, err := zksession.ConnectPlain(ctx, zksession.PlainConfig{Config: session})
	if err != nil {
		return contender{}, err
	}
	l := zk.NewLock(c.Conn, path, zk.WorldACL(zk.PermAll))
	return contender{
		acquire: func(context.Context) error { return l.Lock() },
		release: func(context.Context) error { return l.Unlock() },
		close:   c.Close,
	}, nil
}
