package effect

import "locklab/harness/history"

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
