package reports

import (
	"cmp"
	"image/color"
	"slices"
	"strings"

	"locklab/harness/check"
	"locklab/harness/history"
)

// maxLanes is the most clients that a timeline has rows for.
const maxLanes = 12

// A timeline is a scene taken apart into what is drawn.
type timeline struct {
	scene
	Lanes  []lane
	Hidden int // clients that waited or held in the scene but have no row

	Held     []ownedSpan     // at the servers; nil if nobody knows
	HeldBy   string          // where that is from
	HeldErr  int64           // by how much it may be off, in ns
	Modes    map[string]bool // of the holds in it
	Accesses []access        // as the resource recorded them; nil if there is none
	Kept     bool            // they are to what ZooKeeper keeps, as clients recorded them
	Faults   []faultSpan
	Moments  []moment
}

// A lane is one client's row.
type lane struct {
	Client  string
	Color   color.NRGBA
	Waits   []span
	Holds   []span // believed
	Reads   []span // believed that it held it to read
	Double  []span // believed while another one believed too that it excludes
	Stopped []span // its process stood still
	Unsure  []span // may still have believed, but nothing more was recorded
}

// An ownedSpan is a piece of time that belongs to a client ("" = unknown).
type ownedSpan struct {
	span
	Client string
	Row    int // of those at one time
}

// A moment is a labelled instant.
type moment struct {
	At   int64
	Text string
	Bad  bool
}

func newTimeline(in Input, w window, faults []faultSpan) (timeline, bool) {
	s, ok := chooseScene(in, w, faults)
	if !ok {
		return timeline{}, false
	}
	s.To = min(s.To, max(w.End, s.From+1e6))
	t := timeline{scene: s}
	for _, f := range faults {
		if f.overlaps(s.span) {
			t.Faults = append(t.Faults, f)
		}
	}
	t.Modes = map[string]bool{}
	t.fillLanes(in, w)
	if t.Held = servedSpans(in.Report, s.Lock, s.span, w.End); t.Held != nil {
		t.HeldErr = in.Report.Held.Err
		t.HeldBy = "(their logs, ±" + duration(t.HeldErr) + ")"
	} else if t.Held = heldSpans(in.Events, s.Lock, s.span, w.End, sessionOwners(in.Events, in.Acquisitions)); t.Held != nil {
		t.HeldBy = "(an observer's watch)"
	}
	t.Accesses, t.Kept = accesses(in, s.Lock, s.span), in.Meta.Guard == check.GuardZKMulti
	t.Moments = moments(in, &t)
	return t, true
}

// fillLanes chooses the clients that get a row and gives them what they did.
func (t *timeline) fillLanes(in Input, w window) {
	var took []*history.Acquisition
	b := newBeliefs(in)
	first := map[string]int64{}
	for i := range in.Acquisitions {
		a := &in.Acquisitions[i]
		until := w.End
		if a.Granted() {
			until = b.until(a)
			if b.unsure(a) {
				until = b.end
			}
		} else if a.Returned != history.None {
			until = a.Returned
		}
		if a.Lock != t.Lock || !t.overlaps(span{a.Invoked, until}) {
			continue
		}
		took = append(took, a)
		// By their first grant from the turning point on, so that the rows read
		// like stairs; then those that had held before; then those that never did.
		at := 2*w.End + a.Invoked
		switch {
		case a.Granted() && a.Returned < t.To && a.Returned >= t.anchor():
			at = a.Returned
		case a.Granted() && a.Returned < t.To:
			at = w.End + a.Returned
		}
		if v, known := first[a.Client]; !known || at < v {
			first[a.Client] = at
		}
	}
	rank := func(c string) int { // the scene's own, those that held, the rest
		if i := slices.Index(t.Clients, c); i >= 0 {
			return i - len(t.Clients)
		}
		return 0
	}
	var names []string
	for c := range first {
		names = append(names, c)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(first[a], first[b]), compareNatural(a, b))
	})
	t.Hidden = max(0, len(names)-maxLanes)
	names = names[:min(len(names), maxLanes)]
	stopped := stops(in.Events)
	index := map[string]int{}
	for i, c := range names {
		process, _, _ := strings.Cut(c, "/")
		l := lane{Client: c, Color: owners[i%len(owners)]}
		for _, s := range stopped[process] {
			if s.overlaps(t.span) {
				l.Stopped = append(l.Stopped, s)
			}
		}
		index[c] = len(t.Lanes)
		t.Lanes = append(t.Lanes, l)
	}
	for _, a := range took {
		k, shown := index[a.Client]
		if !shown {
			continue
		}
		l := &t.Lanes[k]
		if a.Granted() {
			t.Modes[a.Mode] = true
			l.Waits = append(l.Waits, span{a.Invoked, a.Returned})
			held := &l.Holds
			if a.Mode == history.ModeRead {
				held = &l.Reads
			}
			*held = append(*held, span{a.Returned, b.until(a)})
			if b.unsure(a) {
				l.Unsure = append(l.Unsure, span{b.until(a), b.end})
			}
		} else if a.Returned != history.None {
			l.Waits = append(l.Waits, span{a.Invoked, a.Returned})
		} else {
			l.Waits = append(l.Waits, span{a.Invoked, w.End})
		}
	}
	if value(in.Result.Safety.Overlaps) > 0 {
		t.markDoubles(in, took, index, b)
	}
}

// markDoubles finds where two holds were believed at once that exclude each other:
// the check keeps only its first findings, the picture wants all that it shows. Of
// permits only the check knows which are too many, and its findings are drawn.
func (t *timeline) markDoubles(in Input, took []*history.Acquisition, index map[string]int, ends beliefs) {
	mark := func(client string, s span) {
		if k, shown := index[client]; shown && s.To > s.From {
			t.Lanes[k].Double = append(t.Lanes[k].Double, s)
		}
	}
	for _, f := range overlapFindings(in.Report) {
		if f.Lock == t.Lock && t.overlaps(span{f.At, f.Until}) {
			mark(f.Clients[0], span{f.At, f.Until})
			mark(f.Clients[1], span{f.At, f.Until})
		}
	}
	held := slices.DeleteFunc(slices.Clone(took), func(a *history.Acquisition) bool { return !a.Granted() })
	slices.SortStableFunc(held, func(a, b *history.Acquisition) int { return cmp.Compare(a.Returned, b.Returned) })
	for i, a := range held {
		until := ends.until(a)
		for _, b := range held[i+1:] {
			if b.Returned >= until {
				break
			}
			if both := (span{b.Returned, min(until, ends.until(b))}); a.Client != b.Client && history.Conflict(a.Mode, b.Mode) {
				mark(a.Client, both)
				mark(b.Client, both)
			}
		}
	}
	for k := range t.Lanes {
		t.Lanes[k].Double = union(t.Lanes[k].Double)
	}
}

// union merges spans that touch.
func union(all []span) []span {
	slices.SortFunc(all, func(a, b span) int { return cmp.Compare(a.From, b.From) })
	var out []span
	for _, s := range all {
		if n := len(out); n > 0 && s.From <= out[n-1].To {
			out[n-1].To = max(out[n-1].To, s.To)
			continue
		}
		out = append(out, s)
	}
	return out
}
