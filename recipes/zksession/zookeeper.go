package zksession

import (
	"context"
	"time"
)

// ZooKeeper is one session with a ZooKeeper service, as the recipes see it. The recipes know nothing else of the
// outside, so something other than a real server can stand behind them.
//
// A call returns when it is answered, when the session is over, or when its
// context ends, whichever is first; while the session is disconnected it waits. A
// call that its context ended may still take effect at any time until the session
// is over. A caller that must know therefore passes a context without an end.
// Requests are executed in the order in which calls returned or were answered;
// calls made at the same time are sent without waiting for one another, in any
// order. All methods may be called from many goroutines.
type ZooKeeper interface {
	// ID returns the session's id. It never changes: a session that expires is
	// over, and nothing is ever executed under a successor.
	ID() int64
	// Timeout returns the session timeout that the server granted.
	Timeout() time.Duration
	// Done returns a channel that is closed once the session is over for good.
	Done() <-chan struct{}
	// Err returns nil while the session lives, then ErrSessionExpired or ErrSessionClosed, or wraps ErrAuthFailed.
	Err() error
	// Reconnected returns a channel that is closed when the session is connected the
	// next time, after having been disconnected.
	Reconnected() <-chan struct{}
	// Disconnected returns a channel that is closed when the session is disconnected, now or the next time.
	Disconnected() <-chan struct{}
	// Heard returns when the newest request was sent that the service has answered, a ping or a reconnect included.
	// That says that the session's server lived then, but not that the leader heard of the session.
	Heard() time.Time
	// Await waits until the session is connected. Its error is the session's, or
	// wraps that of ctx.
	Await(ctx context.Context) error
	// Close ends the session and with it every call, at the server too if it can be reached within a second, and waits
	// until that is done, or until ctx has ended and a second has passed.
	Close(ctx context.Context) error

	// Create creates a znode, with the session's ACL, and returns its path.
	Create(ctx context.Context, path string, data []byte, mode Mode) (string, error)
	// Enter creates an ephemeral sequential znode, as Create does, and then lists the children of its parent, both in one
	// round trip. After an error of the create there is no entry. The list may fail although the create succeeded, which
	// the entry says.
	Enter(ctx context.Context, path string, data []byte) (Entry, error)
	// Delete deletes a znode, whatever its version.
	Delete(ctx context.Context, path string) error
	// Get reads a znode.
	Get(ctx context.Context, path string) ([]byte, Stat, error)
	// GetW reads a znode and leaves a watch on it: if GetW succeeds, fired is
	// called exactly once, from another goroutine and perhaps before GetW
	// returns, when the znode changes or is deleted after that read, or the
	// session is over. It leaves no watch if it fails.
	GetW(ctx context.Context, path string, fired func(Event)) ([]byte, Stat, error)
	// Children lists the names of a znode's children, in no order.
	Children(ctx context.Context, path string) ([]string, error)
	// ChildrenW is to Children what GetW is to Get: fired is called when a child
	// was created or deleted, or the znode itself was deleted.
	ChildrenW(ctx context.Context, path string, fired func(Event)) ([]string, error)
	// Succeed watches, on one connection, the data of our own znode and of the one ahead of it in a queue. It costs two
	// requests, for whose answers it does not wait. The caller also watches the children of the one ahead, which has none,
	// by ChildrenW. When the event of that comes, the [Succession] says what is known. It is nil, and has cost nothing, if
	// transactions are to be compared and the server has not told yet on this connection which transaction an event is of.
	// Servers before version 3.9 never tell.
	Succeed(ctx context.Context, own, ahead string, compare bool) (*Succession, error)
	// Multi executes all of the operations as one transaction, or none. It returns
	// for each the path of the znode that it created, or "". If one is refused the
	// error is an [*OpError] that says which.
	Multi(ctx context.Context, ops ...Op) ([]string, error)
	// Sync brings the session's server up to everything that the leader had proposed when the call reached it: a
	// later read shows the effect of each such write, or the write never has one. Path is any znode, which need not
	// exist.
	Sync(ctx context.Context, path string) error
}

// Mode is the kind of a znode to create.
type Mode int

// The modes that the recipes use.
const (
	Persistent Mode = iota
	// Container znodes are deleted by the service some time after their last child.
	Container
	// Ephemeral znodes end with their session.
	Ephemeral
	// EphemeralSequential znodes get the parent's count of creates as ten digits
	// behind their name.
	EphemeralSequential
)

// Stat is what the recipes need to know of a znode.
type Stat struct {
	// Czxid is the transaction that created the znode.
	Czxid int64
	// Owner is the session that an ephemeral znode belongs to, else 0.
	Owner int64
	// Ctime is when it was created, in ms since 1970 by the clock of the leader.
	Ctime int64
	// Mzxid is the transaction that set its data last.
	Mzxid int64
	// Version counts the settings of its data; it wraps around.
	Version int32
	// Children is how many children it has.
	Children int32
}

// Event is what ended a watch.
type Event int

// The events.
const (
	// Changed: the znode's data was set; or, of a list, a child came or went. Or that may have happened unseen, because
	// the server refused to set the watch again after a reconnect.
	Changed Event = iota
	// Deleted: the znode is gone.
	Deleted
	// Unwatched: the session is over.
	Unwatched
)
