package check

import "locklab/harness/history"

// Fences are what the accesses that a resource served let it know: below which
// token an access is stale. The zero value has served nothing.
//
//   - Under an exclusive lock: below the highest token served (model M6).
//   - With readers (M6rw): what is done to read is stale below the highest token
//     served to write; what is done to write is stale below the highest token of
//     all. Two readers bound nothing of each other's, so that no legal one is
//     refused. A holder that excludes others does everything to write, from its
//     first access on; and a write is one whoever does it.
//   - With permits (M6s): below the highest token served in the same slot. The
//     holders of two slots may both be there.
//
// Equal tokens are never stale: they are one holder's, or those of a writer and
// of what it has kept as a reader.
type Fences struct {
	write, read *history.Event // served, with the highest token
	slots       map[string]*history.Event
}

// Bound is the access that e's token must not be below, nil if there is none.
func (f *Fences) Bound(e *history.Event) *history.Event {
	switch {
	case e.Mode == history.ModePermit:
		return f.slots[e.Target]
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

// Serve takes note of an access that was accepted.
func (f *Fences) Serve(e *history.Event) {
	higher := func(than *history.Event) bool { return than == nil || e.Token > than.Token }
	switch {
	case e.Mode == history.ModePermit:
		if higher(f.slots[e.Target]) {
			if f.slots == nil {
				f.slots = map[string]*history.Event{}
			}
			f.slots[e.Target] = e
		}
	case writes(e):
		if higher(f.write) {
			f.write = e
		}
	case higher(f.read):
		f.read = e
	}
}

// writes reports whether e is done to write, in M6rw.
func writes(e *history.Event) bool { return e.Mode != history.ModeRead || e.Op == history.OpWrite }
