package lock

import (
	"context"
	"errors"
	"path"

	"locklab/harness/history"
	"locklab/recipes"
	"locklab/recipes/zksession"
	"locklab/workloads/foreign"
)

// A Client describes to a recipe the client that opens it.
type Client struct {
	// Config says how to connect. Servers are in the order in which this client's session tries them.
	zksession.Config
	// Name is the client's, for people that inspect the service.
	Name string
	// LeaseClock is the lease clock of the session; nil = none.
	LeaseClock *recipes.LeaseClockConfig
	// Locks are the paths of the locks that the client may ask for.
	Locks []string
	// Permits is how many permits a semaphore has, and Units how many of them a hold takes. Resizes says that the
	// number changes.
	Permits, Units int
	Resizes        bool
	// Try makes an acquire end with recipes.ErrNotAcquired where it would have to wait.
	Try bool
	// Queued is called once an attempt has its place in a lock's queue, with the number of contenders ahead.
	Queued func(lock string, ahead int)
	// Sharing is the session that several clients share, if they do.
	Sharing *Sharing
	// Driver runs the command of a recipe that is a command.
	Driver *foreign.Driver

	_ struct{}
}

// A Source is a session of a recipe, with the locks in it. Only one goroutine uses it.
type Source interface {
	// Done is closed when the session is over for good.
	Done() <-chan struct{}
	// Err says why it is over.
	Err() error
	// Close ends the session.
	Close(ctx context.Context) error
	// Acquire waits until the client holds what it wants, or ctx ends; otherwise it is like that of a recipe's lock.
	Acquire(ctx context.Context, w Want) (*Grant, error)
}

// A Downgrader is a source whose writers can become readers.
type Downgrader interface {
	// Downgrade returns a read hold beside a write hold that was granted, which stays.
	Downgrade(ctx context.Context, write *Grant) (*Grant, error)
}

// A Looker is a source whose session can also be used to look who is in a queue. Any goroutine may do that.
type Looker interface {
	Look(ctx context.Context, path string) error
}

// ErrNoDowngrade says that a recipe's writers cannot become readers.
var ErrNoDowngrade = errors.New("the recipe's writers cannot become readers")

// A Want is what a client acquires at once.
type Want struct {
	Mode      history.Mode
	Paths     []string // of the locks, in the order in which to take them
	Units     int      // permits, in history.ModePermit
	Downgrade bool     // go on as a reader after having written
}

// A Grant is what a source has granted: a part for each lock.
type Grant struct {
	Parts []Part
	// Release releases all parts; it is like a hold's, with the errors of all parts joined.
	Release func(ctx context.Context) error
}

// A Part is one lock of a grant.
type Part struct {
	Lock  string
	Token int64
	// Use is the token to show to the resource, 0 if the token would tell it nothing. Slot says which permit it is.
	Use, Slot int64
	Hold      *recipes.Hold // the part's own hold, or that of all parts
}

// Single returns the grant of one lock.
func Single(lock string, mode history.Mode, h *recipes.Hold) *Grant {
	p := Part{Lock: lock, Token: h.Token(), Use: h.Token(), Hold: h}
	if mode == history.ModePermit {
		// Tokens of permits are compared slot by slot. Without a slot, they would accuse clients that may rightly
		// hold together.
		if slots := h.Slots(); len(slots) > 0 {
			p.Slot = int64(slots[0])
		} else {
			p.Use = 0
		}
	}
	return &Grant{Parts: []Part{p}, Release: h.Release}
}

// modes are the modes in which a lock can be held; nil for those that it does not have.
type modes struct {
	write, read, permits recipes.Lock
	downgrade            func(ctx context.Context, write *recipes.Hold) (*recipes.Hold, error)
}

func (m modes) in(mode history.Mode) recipes.Lock {
	switch mode {
	case history.ModeRead:
		return m.read
	case history.ModePermit:
		return m.permits
	}
	return m.write
}

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
