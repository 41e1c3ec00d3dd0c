package recipes

import (
	"fmt"
	"time"

	"locklab/recipes/internal/wire"
)

// A faultKind is a fault that may happen at one step, and what it may do to the session.
type faultKind struct {
	name  string
	fault wire.Fault
	// kill ends the session at the service at that moment. The client cannot reconnect until that is done.
	kill bool
	// muteNext makes the next server that the client tries never answer; the one after that answers.
	muteNext bool
	// cancel ends the context of the client under test at that moment; force makes an administrator delete all its
	// znodes.
	cancel, force bool
	// unwatched breaks the next connection too, before the client sets its watches again on it. another is a request of
	// the same session that is answered on that connection, before it breaks.
	unwatched, another bool
	timeout            time.Duration
	holdsEnd           HoldsEnd
	ends               ending
}

// An ending says how the session, and what the client does in it, may end after a fault.
type ending int

const (
	lives     ending = iota // the session lives, and all goes well
	cancelled               // the session lives, but the client may end with its context
	loses                   // the session lives, but the hold may be lost
	dies                    // the session dies, and the client says so
	either                  // all goes well, or the session dies
)

// The timeouts are long where they should not matter. A client needs two thirds of the timeout to find out that its
// server is silent, and a mute server takes the last third. The session then survives if the service has heard of it
// in between.
var faultKinds = []faultKind{
	{name: "request-lost", fault: wire.RequestLost, timeout: 20 * time.Second},
	{name: "reply-lost", fault: wire.ReplyLost, timeout: 20 * time.Second},
	{name: "unwatched", fault: wire.RequestLost, unwatched: true, timeout: 20 * time.Second},
	{name: "unwatched-after-another", fault: wire.ReplyLost, unwatched: true, another: true, timeout: 20 * time.Second},
	{name: "killed-before", fault: wire.RequestLost, kill: true, timeout: 20 * time.Second, ends: dies},
	{name: "killed-after", fault: wire.ReplyLost, kill: true, timeout: 20 * time.Second, ends: dies},
	{name: "mute", fault: wire.Mute, muteNext: true, timeout: 4 * time.Second, holdsEnd: WhenTold},
	{name: "silent", fault: wire.Mute, muteNext: true, timeout: 4 * time.Second, ends: loses},
	{name: "cancelled", fault: wire.Late, cancel: true, timeout: 20 * time.Second, ends: cancelled},
	{name: "deleted", fault: wire.Late, force: true, timeout: 20 * time.Second, ends: loses},
	{name: "black-hole", fault: wire.BlackHole, muteNext: true, timeout: 3 * time.Second, ends: either},
}

// A step is one request of a scenario: the n-th of its kind. (Its place among all requests is not fixed, because some
// are sent together, in either order.)
//
// The zero step hits the client while it waits for a change and has nothing to ask: another request of its session
// meets the fault. The change comes before the client is connected again.
type step struct {
	op int32
	n  int
}

// idle is the zero step.
var idle step

func (s step) String() string {
	if s == idle {
		return "idle"
	}
	return fmt.Sprintf("%s-%d", wire.OpNames[s.op], s.n)
}

// A plan is one case: which fault happens at which step, and whether a client waits behind.
type plan struct {
	step   step
	kind   faultKind
	behind bool
}

func (p plan) String() string {
	waits := "alone"
	if p.behind {
		waits = "one-behind"
	}
	return fmt.Sprintf("%v/%s/%s", p.step, p.kind.name, waits)
}
