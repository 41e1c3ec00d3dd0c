// Package observe describes what happens to sessions and locks, for those who watch them from outside: logs and
// metrics.
//
// In flow: nothing. Out flow: [Event] values, which package recipes makes and the packages below this one turn into log
// records and metrics.
package observe

import (
	"fmt"
	"time"
)

// An Event is something that happened to a lock or to its session.
type Event struct {
	Kind Kind
	// Session is the id of the session.
	Session int64
	// Recipe and Lock say which lock it was: "mutex", "rw/read", "rw/write", "semaphore" and so on, and its path. They are
	// empty for events of the session itself.
	Recipe, Lock string
	// Ahead is, of Queued, how many contenders must leave first.
	Ahead int
	// Token is the hold's token, of Granted, Released and Lost.
	Token int64
	// Took is the time from the call of Acquire, of Granted and Failed; the time from the grant until the client stopped
	// believing in its hold, of Released and Lost; and how long the session was disconnected, of Connected: 0 at first.
	Took time.Duration
	// Server is the host:port that the session is, or was last, connected to. It is empty for events of locks.
	Server string
	// Err is why: of Failed what Acquire returned, of Lost the cause, of Released nil unless the service has not confirmed
	// it, of Disconnected what broke the connection, and of Ended why the session is over.
	Err error
}

// Kind is what happened.
type Kind int

// The kinds. Each acquisition has any number of Queued, more than one only if it had to start over, and then one
// Granted or one Failed. Each hold has one Granted, and then one Released or one Lost. Each session has Connected and
// Disconnected in turn, and then one Ended. An acquisition that is refused before anything is tried, because the lock
// or the number of permits makes it impossible, has no events.
const (
	// Queued: a contender has its place in the queue. One that fails before that has none.
	Queued Kind = iota
	// Granted: a client got a lock, or a writer became a reader.
	Granted
	// Failed: an acquisition ended without a hold, also because its context had ended or, of a try, another contender was
	// ahead.
	Failed
	// Released: a client gave its hold back.
	Released
	// Lost: a hold ended before it was released.
	Lost
	// Connected: the session is connected, at first or again.
	Connected
	// Disconnected: the session is not connected. It may still live, and its holds with it.
	Disconnected
	// Ended: the session is over.
	Ended
)

var kinds = [...]string{"queued", "granted", "failed", "released", "lost", "connected", "disconnected", "ended"}

// String returns the name of a kind.
func (k Kind) String() string {
	if k < 0 || int(k) >= len(kinds) {
		return fmt.Sprintf("kind-%d", int(k))
	}
	return kinds[k]
}
