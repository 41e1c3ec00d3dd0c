package history

import (
	"cmp"
	"maps"
	"slices"
	"sync"
)

// Acquisitions puts the acquisitions of a merged history together, in the order in which they were invoked.
//
// If a client starts to count from 1 again, because its process was restarted under the same name, its acquisitions
// are new ones: an event belongs to the latest acquisition of that lock invoked under its number.
//
// Several locks taken at once are an acquisition each, with one number.
//
// The log keeps them. Nobody may change them.
func Acquisitions(events *Log) []Acquisition {
	if events == nil {
		return nil
	}
	return events.gathered().all
}

// AcquisitionsOf returns the acquisitions that a client invoked of a lock under a number, the latest first.
func AcquisitionsOf(events *Log, client, lock string, n int64) func(yield func(*Acquisition) bool) {
	return func(yield func(*Acquisition) bool) {
		if events == nil {
			return
		}
		g := events.gathered()
		if c := g.callers[caller{client, lock}]; c != nil {
			g.numbered(c, n, yield)
		}
	}
}

func (l *Log) gathered() *gathering {
	l.gather.Do(func() { l.acquisitions = gather(l) })
	return l.acquisitions
}

// A gathering is the acquisitions of a history that have been put together so far.
type gathering struct {
	all       []Acquisition
	callers   map[caller]*calls
	claimants map[Claimant]*Claimant
	troubles  map[Trouble]*Trouble
	due       map[arrival]int64

	sorted sync.Once
	grants [][]*Acquisition // see [Grants]; nil until they are needed
}

// A caller is a client that asks for a lock.
type caller struct{ client, lock string }

// calls are the acquisitions of a caller.
type calls struct {
	places []int32        // in the order in which they were invoked
	counts []int          // where in places the caller began to count anew
	dead   map[string]int // by process: how many of places its latest exit has been noted for
	// last are the claimants of the latest acquisition, before and after its acquire returned.
	last [2]*Claimant
}

// An arrival names an acquisition that was due. If several of a client are late, the next may be due before the last
// is invoked.
type arrival struct {
	process, client string
	n               int64
}

func gather(events *Log) *gathering {
	g := &gathering{
		all:       slices.Grow([]Acquisition(nil), events.Count(OpAcquire, Invoke)),
		callers:   map[caller]*calls{},
		claimants: map[Claimant]*Claimant{},
		troubles:  map[Trouble]*Trouble{},
		due:       map[arrival]int64{},
	}
	for _, e := range events.Of(OpArrive, OpAcquire, OpQueued, OpRelease, OpLost, OpProcess) {
		switch {
		case e.ProcessIs(ProcessExited):
			g.exited(e.Process, e.At)
		case e.Acq == 0 || e.Client == "":
		case e.Op == OpArrive:
			g.due[arrival{e.Process, e.Client, e.Acq}] = e.At
		case e.Op == OpAcquire && e.Kind == Invoke:
			g.invoked(&e)
		default:
			g.goesOn(&e)
		}
	}
	g.claimants, g.troubles, g.due = nil, nil, nil
	return g
}

func (g *gathering) invoked(e *Event) {
	by := caller{e.Client, e.Lock}
	c := g.callers[by]
	if c == nil {
		c = &calls{}
		g.callers[by] = c
	}
	if n := len(c.places); n == 0 || g.all[c.places[n-1]].N >= e.Acq {
		c.counts = append(c.counts, n)
	}
	a := Acquisition{N: e.Acq, Place: int32(len(g.all)), Invoked: e.At, Queued: None, Returned: None,
		ReleaseInvoked: None, ReleaseReturned: None}
	a.Claimant = g.claimant(c, Claimant{Process: e.Process, Client: e.Client, Lock: e.Lock, Mode: e.Mode,
		Permits: e.Permits()})
	a.Trouble = g.trouble(Trouble{Lost: None, Died: None})
	due := arrival{e.Process, e.Client, e.Acq}
	if at, scheduled := g.due[due]; scheduled {
		a.Scheduled, a.Late = true, e.At-at
	}
	c.places = append(c.places, a.Place)
	g.all = append(g.all, a)
}

// goesOn notes what became of an acquisition.
func (g *gathering) goesOn(e *Event) {
	c := g.callers[caller{e.Client, e.Lock}]
	if c == nil {
		return
	}
	var a *Acquisition
	g.numbered(c, e.Acq, func(latest *Acquisition) bool { a = latest; return false })
	if a == nil || a.Process != e.Process {
		return // the resource's own record, or a history without its head
	}
	t := *a.Trouble
	switch {
	case e.Op == OpQueued && a.Queued == None:
		a.Queued = e.At
	case e.Op == OpAcquire:
		a.Returned, a.Outcome, a.Token = e.At, e.Kind, e.Token
		is := *a.Claimant
		is.Session = e.Session
		if a.Mode == ModePermit && e.Kind == OK && e.Value > 0 {
			is.Permits = e.Value
		}
		a.Claimant = g.claimant(c, is)
		t.Error = e.Detail
		if e.Kind == Fail {
			t.Reason = failReason(e)
		}
	case e.Op == OpRelease && e.Kind == Invoke:
		a.ReleaseInvoked = e.At
	case e.Op == OpRelease:
		a.ReleaseReturned, a.ReleaseOutcome, t.ReleaseError = e.At, e.Kind, e.Detail
	case e.Op == OpLost && a.Lost == None:
		t.Lost, t.LostCause = e.At, e.Detail
	}
	if t != *a.Trouble {
		a.Trouble = g.trouble(t)
	}
}

// exited notes that a process exited while some acquisitions waited for a lock, or held it.
func (g *gathering) exited(process string, at int64) {
	for _, c := range g.callers {
		for _, place := range c.places[c.dead[process]:] {
			a := &g.all[place]
			if a.Process == process && a.ReleaseReturned == None && !(a.Returned != None && a.Outcome == Fail) {
				t := *a.Trouble
				t.Died = at
				a.Trouble = g.trouble(t)
			}
		}
		if c.dead == nil {
			c.dead = map[string]int{}
		}
		c.dead[process] = len(c.places)
	}
}

// numbered yields a caller's acquisitions of a number, the latest first.
func (g *gathering) numbered(c *calls, n int64, yield func(*Acquisition) bool) {
	until := len(c.places)
	for _, from := range slices.Backward(c.counts) {
		count := c.places[from:until]
		k := len(count) - 1 // most often it is the latest
		if g.all[count[k]].N != n {
			k, _ = slices.BinarySearchFunc(count, n, func(place int32, n int64) int { return cmp.Compare(g.all[place].N, n) })
		}
		if k < len(count) && g.all[count[k]].N == n && !yield(&g.all[count[k]]) {
			return
		}
		until = from
	}
}

// claimant returns what equal claimants share. Most often a caller is as before.
func (g *gathering) claimant(c *calls, is Claimant) *Claimant {
	last := &c.last[0]
	if is.Session != 0 {
		last = &c.last[1]
	}
	if *last != nil && **last == is {
		return *last
	}
	*last = g.claimants[is]
	if *last == nil {
		*last = &is
		g.claimants[is] = *last
	}
	return *last
}

// trouble returns what equal troubles share.
func (g *gathering) trouble(t Trouble) *Trouble {
	shared := g.troubles[t]
	if shared == nil {
		shared = &t
		g.troubles[t] = shared
	}
	return shared
}

// ByLock returns every lock's acquisitions that match, in the order in which they have been given. Nil matches all.
func ByLock(all []Acquisition, match func(*Acquisition) bool) map[string][]*Acquisition {
	n := map[string]int{}
	for i := range all {
		if a := &all[i]; match == nil || match(a) {
			n[a.Lock]++
		}
	}
	byLock := make(map[string][]*Acquisition, len(n))
	for lock, n := range n {
		byLock[lock] = make([]*Acquisition, 0, n)
	}
	for i := range all {
		if a := &all[i]; match == nil || match(a) {
			byLock[a.Lock] = append(byLock[a.Lock], a)
		}
	}
	return byLock
}

// GrantsByLock returns every lock's granted acquisitions in the order in which acquire returned. Those of one instant
// are in the order of their places. The locks are in the order of their names.
func GrantsByLock(all []Acquisition) [][]*Acquisition {
	byLock := ByLock(all, (*Acquisition).Granted)
	grants := make([][]*Acquisition, 0, len(byLock))
	for _, lock := range slices.Sorted(maps.Keys(byLock)) {
		slices.SortFunc(byLock[lock], func(a, b *Acquisition) int {
			return cmp.Or(cmp.Compare(a.Returned, b.Returned), cmp.Compare(a.Place, b.Place))
		})
		grants = append(grants, byLock[lock])
	}
	return grants
}

// Grants returns [GrantsByLock] of a history. The log keeps them, and nobody may change them.
func Grants(events *Log) [][]*Acquisition {
	if events == nil {
		return nil
	}
	g := events.gathered()
	g.sorted.Do(func() { g.grants = GrantsByLock(g.all) })
	return g.grants
}
