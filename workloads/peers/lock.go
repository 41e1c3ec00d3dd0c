package peers

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/recipes"
	"locklab/recipes/zksession"
)

// A contender is one client: a session with a lock on it.
type contender interface {
	acquire(ctx context.Context) error
	release(ctx context.Context) error
	close(ctx context.Context) error
}

// connect makes a contender for the lock at path, with a session on one server.
type connect func(ctx context.Context, server, path string, timeout time.Duration) (contender, error)

// contenders are the peers that are written in Go, by name.
var contenders = map[string]connect{
	Mutex:       mutexOf(recipes.MutexConfig{}),
	SparseMutex: mutexOf(recipes.MutexConfig{SparseLists: true}),
	ZKLock:      connectZKLock,
}

// The peers.
const (
	Mutex        = "mutex"         // recipes.Mutex
	SparseMutex  = "mutex-sparse"  // the same with SparseLists
	ZKLock       = "zk-lock"       // go-zookeeper's zk.Lock
	CuratorMutex = "curator-mutex" // Curator's InterProcessMutex, which has a loop of its own
)

// Names returns the peers that [Run] can be.
func Names() []string { return slices.Sorted(maps.Keys(contenders)) }

type mutex struct {
	session *recipes.Session
	lock    recipes.Lock
	hold    *recipes.Hold
}

func mutexOf(cfg recipes.MutexConfig) connect {
	return func(ctx context.Context, server, path string, timeout time.Duration) (contender, error) {
		s, err := recipes.Connect(
			ctx,
			recipes.SessionConfig{Config: zksession.Config{Servers: []string{server}, Timeout: timeout}},
		)
		if err != nil {
			return nil, err
		}
		cfg := cfg
		cfg.Session, cfg.Path = s, path
		l, err := recipes.NewMutex(cfg)
		if err != nil {
			return nil, err
		}
		return &mutex{session: s, lock: l}, nil
	}
}

func (m *mutex) acquire(ctx context.Context) (err error) {
	m.hold, err = m.lock.Acquire(ctx)
	return err
}

func (m *mutex) release(ctx context.Context) error { return m.hold.Release(ctx) }

func (m *mutex) close(ctx context.Context) error { return m.session.Close(ctx) }

type zkLock struct {
	client *zksession.Plain
	lock   *zk.Lock
}

// connectZKLock connects as go-zookeeper's users do, and uses zk.Lock without recipes.ZKLock around it, whose
// goroutines would count.
func connectZKLock(ctx context.Context, server, path string, timeout time.Duration) (contender, error) {
	cfg := zksession.PlainConfig{Config: zksession.Config{Servers: []string{server}, Timeout: timeout}}
	c, err := zksession.ConnectPlain(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return &zkLock{c, zk.NewLock(c.Conn, path, zk.WorldACL(zk.PermAll))}, nil
}

func (l *zkLock) acquire(context.Context) error { return l.lock.Lock() }

func (l *zkLock) release(context.Context) error { return l.lock.Unlock() }

func (l *zkLock) close(ctx context.Context) error { return l.client.Close(ctx) }
