package effect

import (
	"fmt"

	"locklab/harness/check/evidence"
	"locklab/harness/history"
)

// A loss names a hold of one lock, as the clients' and the resource's records do.
type loss struct {
	holdKey
	lock string
}

// noticesOf returns when clients learned that their holds were lost: when they were told, or when their call of
// release was.
func noticesOf(acquisitions []history.Acquisition) map[loss]int64 {
	told := map[loss]int64{}
	for i := range acquisitions {
		a := &acquisitions[i]
		at := a.Lost
		if at == history.None && a.ReleaseOutcome == history.Fail {
			at = a.ReleaseReturned
		}
		if at != history.None {
			told[loss{holdKey{a.Client, a.N, a.Session}, a.Lock}] = at
		}
	}
	return told
}

// An outdated access compares when a stale access was invoked with when its client learned of the loss of its hold.
// No client can guard itself from an access that it invoked before it could know; one that it invoked after it was
// told is the client's own mistake.
type outdated struct {
	invoked, told int64 // told is None if the client never learned of the loss
	// exact says that the call was recorded. Otherwise invoked is when the access was served, which is later.
	exact bool
	off   int64 // by how much the clocks of the two may be off each other
}

// outdatedAccess counts the stale access e if it is a write, and returns what is known of it. The call is its
// invocation, nil if none is recorded.
func (x *Effects) outdatedAccess(e, call *history.Event) outdated {
	o := outdated{invoked: e.At, told: history.None, off: x.Apart(e.Process, history.HostOf(e.Client))}
	if call != nil {
		o.invoked, o.exact, o.off = call.At, true, 0
	}
	if at, ok := x.notices[loss{keyOf(e), e.Lock}]; ok {
		o.told = at
	}
	if e.Op == history.OpWrite {
		x.staleWrites++
		if o.untold() {
			x.untold++
		}
	}
	return o
}

// untold reports whether the access was certainly invoked before its client learned of the loss.
func (o outdated) untold() bool { return o.told == history.None || o.invoked+o.off < o.told }

func (o outdated) String() string {
	how := "it was invoked"
	if !o.exact {
		how = "it was served" // and invoked before that
	}
	switch {
	case o.told == history.None:
		return "its client was never told of the loss"
	case o.untold():
		return fmt.Sprintf("%s %s before its client learned of the loss", how, evidence.Millis(o.told-o.invoked))
	}
	return fmt.Sprintf("%s %s after its client had learned of the loss", how, evidence.Millis(o.invoked-o.told))
}

// callOf returns the invocation of the write e, nil if e is another access or if the call is not recorded.
func (x *Effects) callOf(e *history.Event) *history.Event {
	call := x.calls[e.Client]
	if e.Op != history.OpWrite || call == nil || call.Acq != e.Acq || call.Lock != e.Lock || call.Session != e.Session {
		return nil
	}
	return call
}

// Fences are what a resource knows from the accesses that it served: below which token an access is stale. The zero
// value has served nothing.
//
//   - Under an exclusive lock, an access is stale below the highest token served (model M6).
//   - With readers (model M6rw), an access for reading is stale below the highest token served for writing, and an
//     access for writing is stale below the highest token of all. Two readers do not bound each other, so that no
//     legal one is refused. Every access of a holder that excludes others is for writing, from its first access on; so
//     is every write.
//   - With permits (model M6s), an access is stale below the highest token served in the same slot. The holders of two
//     slots may use the resource together.
//
// Equal tokens are never stale: they belong to one holder, or to a writer and to the read hold that it kept.
type Fences struct {
	write, read *history.Event // served, with the highest token
	slots       map[history.Slot]*history.Event
}

// Bound is the access whose token e's token must not be below, nil if there is none. It is valid until the next access
// is served.
func (f *Fences) Bound(e *history.Event) *history.Event {
	switch {
	case e.Mode == history.ModePermit:
		return f.slots[e.Access().Slot]
	case writes(e) && f.write == nil, writes(e) && f.read != nil && f.read.Token > f.write.Token:
		return f.read
	}
	return f.write
}

// Stale reports whether e's token is below one that bounds it.
func (f *Fences) Stale(e *history.Event) bool {
	b := f.Bound(e)
	return e.Token != 0 && b != nil && e.Token < b.Token
}

// Serve notes an access that was accepted. It keeps a copy.
func (f *Fences) Serve(e *history.Event) {
	served := &f.read
	switch {
	case e.Mode == history.ModePermit:
		slot := e.Access().Slot
		if f.slots == nil {
			f.slots = map[history.Slot]*history.Event{}
		}
		if f.slots[slot] == nil {
			f.slots[slot] = kept(e)
		}
		was := f.slots[slot]
		served = &was
	case writes(e):
		served = &f.write
	}
	switch {
	case *served == nil:
		*served = kept(e)
	case e.Token > (*served).Token:
		**served = *e
	}
}

// writes reports whether e is an access for writing, in model M6rw.
func writes(e *history.Event) bool { return e.Mode != history.ModeRead || e.Op == history.OpWrite }
