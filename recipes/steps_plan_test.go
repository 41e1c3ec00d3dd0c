package recipes

import (
	"fmt"
	"time"

	"locklab/recipes/internal/wire"
)

// A faultKind is what may come down on one step, and what may become of the session.
type faultKind struct {
	name  string
	fault wire.Fault
	// kill ends the session at the service at that moment; until that is done the client
	// cannot reconnect.
	kill bool
	// muteNext makes the next server that the client tries a mute one; the one after that answers.
	muteNext bool
	// cancel ends the context of what the client under test does at that moment; force has an
	// administrator delete all of its znodes.
	cancel, force bool
	timeout       time.Duration
	ends          ending
}

// An ending is what a fault allows to become of the session and of what the client does in it.
type ending int

const (
	lives     ending = iota // and all goes well
	cancelled               // the session lives, but what was being done may end as its context does
	loses                   // the session lives, but the hold may be lost
	dies                    // and whatever was being done says so
	either                  // all goes well, or the session dies
)

// The timeouts are long where none should matter. Where a client has to find out that its server is
// silent, that takes it two thirds of the timeout, and a mute server the last: the session
// survives if the service has heard of it meanwhile.
var faultKinds = []faultKind{
	{name: "request-lost", fault: wire.RequestLost, timeout: 20 * time.Second},
	{name: "reply-lost", fault: wire.ReplyLost, timeout: 20 * time.Second},
	{name: "killed-before", fault: wire.RequestLost, kill: true, timeout: 20 * time.Second, ends: dies},
	{name: "killed-after", fault: wire.ReplyLost, kill: true, timeout: 20 * time.Second, ends: dies},
	{name: "mute", fault: wire.Mute, muteNext: true, timeout: 2 * time.Second},
	{name: "cancelled", fault: wire.Late, cancel: true, timeout: 20 * time.Second, ends: cancelled},
	{name: "deleted", fault: wire.Late, force: true, timeout: 20 * time.Second, ends: loses},
	{name: "black-hole", fault: wire.BlackHole, muteNext: true, timeout: time.Second, ends: either},
}

// A step is one request of a scenario: the n-th of its kind. (Not its place among all, for some go out
// together, in either order.)
type step struct {
	op int32
	n  int
}

func (s step) String() string { return fmt.Sprintf("%s-%d", wire.OpNames[s.op], s.n) }

// A plan is one case: what happens to which step, and whether somebody waits behind.
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
