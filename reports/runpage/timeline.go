package runpage

import (
	"cmp"
	"image/color"
	"slices"
	"strings"

	"locklab/harness/check"
	"locklab/harness/history"
	"locklab/reports/chart"
	"locklab/reports/result"
	"locklab/reports/words"
)

// maxLanes is the most clients that a timeline has rows for.
const maxLanes = 12

// A timeline has the parts of a scene that are drawn.
type timeline struct {
	scene
	Lanes  []lane
	Hidden int // clients that waited or held in the scene but have no row

	Held     []ownedSpan           // at the servers; nil if it is not known
	HeldBy   string                // the source of Held
	HeldErr  int64                 // by how much Held may be wrong, in ns
	Modes    map[history.Mode]bool // of the holds in it
	Accesses []access              // as the resource recorded them; nil without a resource
	Kept     bool                  // Accesses are to data in ZooKeeper, as clients recorded them
	Faults   []faultSpan
	Moments  []moment
}

// A lane is one client's row.
type lane struct {
	Client  string
	Color   color.NRGBA
	Waits   []result.Span
	Holds   []result.Span // believed
	Reads   []result.Span // believed, to read
	Double  []result.Span // while another client believed in a hold that this one excludes
	Stopped []result.Span // while its process was stopped
	Unsure  []result.Span // while it may have believed, after its last event
}

// An ownedSpan is a span that belongs to a client ("" = unknown).
type ownedSpan struct {
	result.Span
	Client string
	Row    int // of several at the same time
}

// A moment is a labelled instant.
type moment struct {
	At   int64
	Text string
	Bad  bool
}

func newTimeline(in result.Input, w result.Interval, faults []faultSpan) (timeline, bool) {
	s, ok := chooseScene(in, w, faults)
	if !ok {
		return timeline{}, false
	}
	s.To = min(s.To, max(w.End, s.From+1e6))
	t := timeline{scene: s}
	for _, f := range faults {
		if f.Overlaps(s.Span) {
			t.Faults = append(t.Faults, f)
		}
	}
	t.Modes = map[history.Mode]bool{}
	t.fillLanes(in, w)
	if t.Held = servedSpans(in.Report, s.Lock, s.Span, w.End); t.Held != nil {
		t.HeldErr = in.Report.ServerHolds.Err
		t.HeldBy = "(their logs, ±" + words.Duration(t.HeldErr) + ")"
	} else if t.Held = heldSpans(in.Events, s.Lock, s.Span, w.End,
		sessionOwners(in.Events, in.Acquisitions)); t.Held != nil {
		t.HeldBy = "(an observer's watch)"
	}
	t.Accesses, t.Kept = accesses(in, s.Lock, s.Span), in.Scenario.Guard == check.GuardZKMulti
	t.Moments = moments(in, &t)
	return t, true
}

// fillLanes chooses the clients that get a row, and fills the rows with what they did.
func (t *timeline) fillLanes(in result.Input, w result.Interval) {
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
		if a.Lock != t.Lock || !t.Overlaps(result.Span{From: a.Invoked, To: until}) {
			continue
		}
		took = append(took, a)
		// The order is by the first grant from the turning point on, so that the rows look like stairs. Clients that
		// held only before follow, and then those that never did.
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
	rank := func(c string) int { // the scene's clients, those that held, the others
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
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(first[a], first[b]), result.CompareNatural(a, b))
	})
	t.Hidden = max(0, len(names)-maxLanes)
	names = names[:min(len(names), maxLanes)]
	stopped := stops(in.Events)
	index := map[string]int{}
	for i, c := range names {
		process, _, _ := strings.Cut(c, "/")
		l := lane{Client: c, Color: chart.Owners[i%len(chart.Owners)]}
		for _, s := range stopped[process] {
			if s.Overlaps(t.Span) {
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
			l.Waits = append(l.Waits, result.Span{From: a.Invoked, To: a.Returned})
			held := &l.Holds
			if a.Mode == history.ModeRead {
				held = &l.Reads
			}
			*held = append(*held, result.Span{From: a.Returned, To: b.until(a)})
			if b.unsure(a) {
				l.Unsure = append(l.Unsure, result.Span{From: b.until(a), To: b.end})
			}
		} else if a.Returned != history.None {
			l.Waits = append(l.Waits, result.Span{From: a.Invoked, To: a.Returned})
		} else {
			l.Waits = append(l.Waits, result.Span{From: a.Invoked, To: w.End})
		}
	}
	if words.Value(in.Result.Safety.Overlaps) > 0 {
		t.markDoubles(in, took, index, b)
	}
}

// markDoubles finds where two holds that exclude each other were believed at once. It does not use the findings of
// the check, which keeps the first ones only. Only the check knows which permits are too many, so for permits its
// findings are drawn.
func (t *timeline) markDoubles(in result.Input, took []*history.Acquisition, index map[string]int, ends beliefs) {
	mark := func(client string, s result.Span) {
		if k, shown := index[client]; shown && s.To > s.From {
			t.Lanes[k].Double = append(t.Lanes[k].Double, s)
		}
	}
	for _, f := range result.OverlapFindings(in.Report) {
		if f.Lock == t.Lock && t.Overlaps(result.Span{From: f.At, To: f.Until}) {
			mark(f.Clients[0], result.Span{From: f.At, To: f.Until})
			mark(f.Clients[1], result.Span{From: f.At, To: f.Until})
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
			if both := (result.Span{From: b.Returned, To: min(until, ends.until(b))}); a.Client != b.Client &&
				history.Conflict(a.Mode, b.Mode) {
				mark(a.Client, both)
				mark(b.Client, both)
			}
		}
	}
	for k := range t.Lanes {
		t.Lanes[k].Double = result.Union(t.Lanes[k].Double)
	}
}
