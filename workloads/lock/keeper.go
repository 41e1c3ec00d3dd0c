package lock

import (
	"context"
	"path"

	"locklab/recipes"
	"locklab/recipes/zksession"
)

// A Keeper is a source that can keep what a lock protects in ZooKeeper: each lock's counter, which is written only in a
// transaction that checks the hold's znodes too (see [recipes.Hold.Multi]). So the service that grants the lock is the
// one that refuses the write, however long the client stood between its last question and the write. A read is made in
// the hold's session, and needs no sync: that session saw the last holder's znode gone, and no write of that holder's
// can come after that. What a reader reads counts only once a transaction has seen that its hold lasted after it.
type Keeper interface {
	// Counter returns a lock's counter, which is read in the source's session.
	Counter(lock string) (Counter, error)
	// Transact is [recipes.Hold.Multi], of a hold that the source has granted.
	Transact(ctx context.Context, hold *recipes.Hold, ops ...zksession.Op) error
}

// A Counter is a counter in ZooKeeper: a [recipes.SharedCount].
type Counter interface {
	Get(ctx context.Context) (recipes.Count, error)
	SetOp(value int32) zksession.Op
}

// CounterOf returns a lock's counter, which is in a znode beside the lock.
func CounterOf(s *recipes.Session, lock string) (*recipes.SharedCount, error) {
	return recipes.NewSharedCount(recipes.SharedCountConfig{Session: s, Path: beside(lock, "datum")})
}

// beside returns a path for data that belongs to a lock but cannot be below its path, where its queue is.
func beside(lock, what string) string { return path.Join(path.Dir(lock), path.Base(lock)+"-"+what) }

// Counter implements [Keeper].
func (s session) Counter(lock string) (Counter, error) { return CounterOf(s.Session, lock) }

// Transact implements [Keeper].
func (session) Transact(ctx context.Context, hold *recipes.Hold, ops ...zksession.Op) error {
	_, err := hold.Multi(ctx, ops...)
	return err
}
