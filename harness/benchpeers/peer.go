package main

import (
	"context"
	"slices"

	"github.com/go-zookeeper/zk"

	"locklab/recipes"
	"locklab/recipes/zksession"
	"locklab/workloads/lock"
)

// The peers.
const (
	Mutex        = "mutex"         // recipes.Mutex
	ZKLock       = "zk-lock"       // go-zookeeper's zk.Lock
	CuratorMutex = "curator-mutex" // Curator's InterProcessMutex

	KazooLock = "kazoo-lock" // kazoo's Lock, where there is an image with kazoo

	RW        = "rw"         // recipes.RW
	CuratorRW = "curator-rw" // Curator's InterProcessReadWriteLock

	Semaphore        = "semaphore"         // recipes.Semaphore
	CuratorSemaphore = "curator-semaphore" // Curator's InterProcessSemaphoreV2
)

// mostOfKazoo is the largest number of clients with which kazoo's lock is measured: each has three threads of Python.
const mostOfKazoo = 64

// peers returns the locks that are compared with so many clients: [Peers] and, where it can be had, kazoo's.
func (b *bench) peers(lock string, clients int) []string {
	all := Peers[lock]
	if lock == Mutex && clients <= mostOfKazoo && b.cfg.Kazoo != "" {
		all = append([]string{KazooLock}, all...)
	}
	return all
}

// Peers lists, for each kind of lock, the locks that are compared, ours first and Curator's last.
var Peers = map[string][]string{
	Mutex:     append([]string{Mutex, ZKLock}, inVersions(CuratorMutex)...),
	RW:        append([]string{RW}, inVersions(CuratorRW)...),
	Semaphore: append([]string{Semaphore}, inVersions(CuratorSemaphore)...),
}

// inVersions returns a peer of Curator's, which is named as the recipe is, in each version, the newest last.
func inVersions(peer string) []string {
	r, _ := lock.Find(peer)
	all := r.Versions()
	slices.Reverse(all)
	return all
}

// loops has what Curator's peers are called by Loop.java. They have a process of their own.
var loops = map[string]string{CuratorMutex: Mutex, CuratorRW: RW, CuratorSemaphore: Semaphore}

// loopOf returns what a peer of Curator's is called by Loop.java, and its version; empty for a peer in Go.
func loopOf(peer string) (loop, version string) {
	r, _ := lock.Find(peer)
	return loops[r.Unversioned()], r.Version
}

// These are in Loop.java, too.
const (
	// writeEvery says which acquisitions of a read/write lock are a writer's: the k-th of client i, if i+k is a multiple
	// of it. So there are as many at any time, although the clients take turns.
	writeEvery = 4
	// permits is how many permits a semaphore has. An acquisition is of one.
	permits = 4
)

// A contender is one client: a session with a lock on it.
type contender struct {
	acquire, release, close func(context.Context) error
}

// contenders connects client i of each peer that is written in Go, for the lock at a path.
var contenders = map[string]func(ctx context.Context, session zksession.Config, path string, i int) (contender, error){
	Mutex:     ours(openMutex),
	RW:        ours(openRW),
	Semaphore: ours(openSemaphore),
	ZKLock:    connectZKLock,
}

// A choice returns the lock for a client's k-th acquisition, from 0.
type choice func(k int) recipes.Lock

// ours connects a client of this project's locks.
func ours(
	open func(s *recipes.Session, path string, i int) (choice, error),
) func(context.Context, zksession.Config, string, int) (contender, error) {
	return func(ctx context.Context, session zksession.Config, path string, i int) (contender, error) {
		s, err := recipes.Connect(ctx, recipes.SessionConfig{Config: session})
		if err != nil {
			return contender{}, err
		}
		lock, err := open(s, path, i)
		var hold *recipes.Hold
		k := 0
		return contender{
			acquire: func(ctx context.Context) (err error) {
				hold, err = lock(k).Acquire(ctx)
				k++
				return err
			},
			release: func(ctx context.Context) error { return hold.Release(ctx) },
			close:   s.Close,
		}, err
	}
}

func openMutex(s *recipes.Session, path string, _ int) (choice, error) {
	l, err := recipes.NewMutex(recipes.MutexConfig{Session: s, Path: path})
	return func(int) recipes.Lock { return l }, err
}

func openRW(s *recipes.Session, path string, i int) (choice, error) {
	l, err := recipes.NewRW(recipes.RWConfig{Session: s, Path: path})
	return func(k int) recipes.Lock {
		if (i+k)%writeEvery == 0 {
			return l.Write()
		}
		return l.Read()
	}, err
}

func openSemaphore(s *recipes.Session, path string, _ int) (choice, error) {
	l, err := recipes.NewSemaphore(recipes.SemaphoreConfig{Session: s, Path: path, Max: permits})
	return func(int) recipes.Lock { return l.Of(1) }, err
}

// connectZKLock uses zk.Lock without recipes.ZKLock around it, whose goroutines would count.
func connectZKLock(ctx context.Context, session zksession.Config, path string, _ int) (contender, error) {
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
