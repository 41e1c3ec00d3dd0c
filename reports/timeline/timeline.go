package timeline

import (
	"cmp"
	"fmt"
	"image/color"
	"maps"
	"slices"

	"locklab/harness/check"
	"locklab/harness/check/effect"
	"locklab/harness/check/evidence"
	"locklab/harness/check/spans"
	"locklab/harness/history"
	"locklab/reports/measure"
	"locklab/reports/result"
	"locklab/reports/words"
)

// maxLanes is the most clients that a timeline has rows for.
const maxLanes = 12

// A Timeline has the parts of a scene that are drawn.
type Timeline struct {
	Scene
	Lanes  []Lane
	Hidden int // clients that waited or held in the scene but have no row
	colors palette
	part   int    // its number, from 1, if it is of a part of the run; 0 otherwise
	File   string // the name of its picture

	Held     []ownedSpan           // at the servers; nil if it is not known
	HeldBy   string                // the source of Held
	HeldErr  int64                 // by how much Held may be wrong, in ns
	Modes    map[history.Mode]bool // of the holds in it
	Accesses []access              // as the resource recorded them; nil without a resource
	Kept     bool                  // Accesses are to data in ZooKeeper, as clients recorded them
	Faults   []measure.FaultSpan
	Moments  []moment

	Overview *overview // of a timeline of the whole run; nil in others
}

// A Lane is one client's row.
type Lane struct {
	Client  string
	Color   color.NRGBA
	Waits   []spans.Span
	Holds   []Hold       // believed
	Reads   []Hold       // believed, to read
	Double  spans.List   // while another client believed in a hold that this one excludes
	Stopped []spans.Span // while its process was stopped
	Unsure  []spans.Span // while it may have believed, after its last event
	After   []spans.Span // while it still used what the lock protects, though it had learned of its loss
	Shares  []share      // how much of the time it held, of an overview
}

// A Hold is the time for which a client believed that it held the lock.
type Hold struct {
	spans.Span
	*history.Acquisition
	Lines []int // of history.jsonl: its events within the scene
	// First and Last are the servers' transactions that began and ended it; 0 if they are not known.
	First, Last int64
	Unsure      bool // it may have lasted longer
}

// An ownedSpan is a span that belongs to a client ("" = unknown).
type ownedSpan struct {
	spans.Span
	Client string
	Row    int // of several at the same time
}

// A moment is a labelled instant.
type moment struct {
	At   int64
	Text string
	Bad  bool
}

// Timelines are the timelines of a run, see [scenes]. If there are several, they include an overview of the whole run.
type Timelines struct {
	All  []Timeline // the first one is that of the first screen
	Left int        // how many faults and findings have none
}

func New(in result.Input, faults []measure.FaultSpan) (ts Timelines) {
	chosen := chooseScenes(in, faults)
	all := slices.Clone(chosen.Parts)
	if chosen.Lead != nil {
		all = append([]Scene{*chosen.Lead}, all...)
	}
	for i := range all {
		all[i].Until = min(all[i].Until, max(in.Window.End, all[i].From+1e6))
	}
	for i, t := range Of(in, faults, all) {
		t.File = Name
		if t.part = i + 1 - (len(all) - len(chosen.Parts)); t.part > 0 {
			t.File, t.Title = partName(t.part), fmt.Sprintf("%d: %s", t.part, t.Title)
		}
		ts.All = append(ts.All, t)
	}
	granted := slices.ContainsFunc(in.Acquisitions, func(a history.Acquisition) bool { return a.Granted() })
	if granted && (len(faults) > 1 || len(chosen.Parts) > 0) {
		o := NewOverview(in, faults, ts.All)
		o.File = OverviewName
		at := 1
		if chosen.Lead == nil {
			o.File, at = Name, 0
		}
		ts.All = slices.Insert(ts.All, at, o)
	}
	ts.Left = chosen.Left
	return ts
}

// Of returns the timelines of scenes.
func Of(in result.Input, faults []measure.FaultSpan, scenes []Scene) (all []Timeline) {
	colors, ends := NewPalette(in), newBeliefs(in)
	used := accesses(in, scenes)
	for i, s := range scenes {
		t := Timeline{Scene: s, colors: colors, Modes: map[history.Mode]bool{}, Accesses: used[i],
			Kept: in.Scenario.Guard == evidence.GuardZKMulti}
		for _, f := range faults {
			if f.Overlaps(s.Span) {
				t.Faults = append(t.Faults, f)
			}
		}
		t.fillLanes(in, ends)
		if t.Held = servedSpans(in.Report, s.Lock, s.Span, in.Window.End); t.Held != nil {
			t.HeldErr = in.Report.ServerHolds.Err
			t.HeldBy = "(their logs, ±" + words.Duration(t.HeldErr) + ")"
		} else if t.Held = heldSpans(in.Events, s.Lock, s.Span, in.Window.End,
			sessionOwners(in.Events, in.Acquisitions)); t.Held != nil {
			t.HeldBy = "(an observer's watch)"
		}
		t.Moments = moments(in, &t)
		all = append(all, t)
	}
	return all
}

// The names of the first picture, and of that of the whole run where it is not the first one.
const (
	Name         = "timeline"
	OverviewName = "overview"
)

// partName is the name of the picture of a part of the run.
func partName(n int) string { return fmt.Sprintf("timeline-%d", n) }

// fillLanes chooses the clients that get a row, and fills the rows with what they did.
func (t *Timeline) fillLanes(in result.Input, b history.Beliefs) {
	end := in.Window.End
	var took []*history.Acquisition
	first := map[string]int64{}
	for i := range in.Acquisitions {
		a := &in.Acquisitions[i]
		if a.Lock != t.Lock || a.Invoked >= t.Until {
			continue
		}
		until := end
		if a.Granted() {
			until = b.BelievedUntil(a)
			if unsure(b, a) {
				until = b.End
			}
		} else if a.Returned != history.None {
			until = a.Returned
		}
		if !t.Overlaps(spans.Span{From: a.Invoked, Until: until}) {
			continue
		}
		took = append(took, a)
		// If there are too many clients, those that were granted first from the turning point on have a row, then those
		// that held only before, and then those that never did.
		at := 2*end + a.Invoked
		switch {
		case a.Granted() && a.Returned < t.Until && a.Returned >= t.Anchor():
			at = a.Returned
		case a.Granted() && a.Returned < t.Until:
			at = end + a.Returned
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
	names := slices.SortedFunc(maps.Keys(first), func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(first[a], first[b]), measure.CompareNatural(a, b))
	})
	t.Hidden = max(0, len(names)-maxLanes)
	names = names[:min(len(names), maxLanes)]
	t.colors.Order(names)
	stopped := measure.Stops(in.Events)
	index := map[string]int{}
	for _, c := range names {
		l := Lane{Client: c, Color: t.colors.Color(c)}
		for _, s := range stopped[history.HostOf(c)] {
			if s.Overlaps(t.Span) {
				l.Stopped = append(l.Stopped, s)
			}
		}
		index[c] = len(t.Lanes)
		t.Lanes = append(t.Lanes, l)
	}
	lines := linesOf(in.Events, t.Scene)
	served := transactions(in.Report, took)
	for _, a := range took {
		k, shown := index[a.Client]
		if !shown {
			continue
		}
		l := &t.Lanes[k]
		if a.Granted() {
			t.Modes[a.Mode] = true
			l.Waits = append(l.Waits, spans.Span{From: a.Invoked, Until: a.Returned})
			held := &l.Holds
			if a.Mode == history.ModeRead {
				held = &l.Reads
			}
			h := Hold{Span: spans.Span{From: a.Returned, Until: b.BelievedUntil(a)}, Acquisition: a,
				Lines: lines[acquisitionID{a.Client, a.N}], Unsure: unsure(b, a)}
			if z, known := served[serverID{a.Session, a.Token}]; known {
				h.First, h.Last = z.First, z.Last
			}
			*held = append(*held, h)
			if h.Unsure {
				l.Unsure = append(l.Unsure, spans.Span{From: b.BelievedUntil(a), Until: b.End})
			}
			if a.Lost != history.None {
				l.After = append(l.After, t.after(a)...)
			}
		} else if a.Returned != history.None {
			l.Waits = append(l.Waits, spans.Span{From: a.Invoked, Until: a.Returned})
		} else {
			l.Waits = append(l.Waits, spans.Span{From: a.Invoked, Until: end})
		}
	}
	if words.Value(in.Result.Safety.Overlaps) > 0 {
		t.markDoubles(in, took, index, b)
	}
}

// after is the time from a client's learning that its hold was lost to its last use of what the lock protects under it;
// empty if there was none.
func (t *Timeline) after(a *history.Acquisition) []spans.Span {
	last := a.Lost
	for _, use := range t.Accesses {
		if use.Client == a.Client && use.Acq == a.N {
			last = max(last, use.At)
		}
	}
	if last == a.Lost {
		return nil
	}
	return []spans.Span{{From: a.Lost, Until: last}}
}

// An acquisitionID tells the acquisitions of one lock apart.
type acquisitionID struct {
	client string
	n      int64
}

// linesOf returns the line numbers in history.jsonl of the events within a scene, by the acquisition that they belong
// to.
func linesOf(events *history.Log, s Scene) map[acquisitionID][]int {
	by := map[acquisitionID][]int{}
	for i, e := range events.Since(s.From) {
		if e.At >= s.Until {
			break
		}
		if e.Lock == s.Lock && e.Acq != 0 {
			id := acquisitionID{e.Client, e.Acq}
			by[id] = append(by[id], i+1)
		}
	}
	return by
}

// A serverID tells the holds of one lock apart at the servers.
type serverID struct {
	session history.SessionID
	token   int64
}

// transactions returns the holds at the servers of acquisitions of one lock, as far as they were granted; none where
// the servers' logs were not read.
func transactions(rep check.Report, of []*history.Acquisition) map[serverID]check.ServerHold {
	by := map[serverID]check.ServerHold{}
	if rep.ServerHolds == nil || len(of) == 0 {
		return by
	}
	wanted := map[serverID]bool{}
	for _, a := range of {
		if a.Granted() {
			wanted[serverID{a.Session, a.Token}] = true
		}
	}
	for _, h := range rep.ServerHolds.Locks[of[0].Lock] {
		if id := (serverID{h.Session, h.Token}); wanted[id] {
			by[id] = h
		}
	}
	return by
}

// markDoubles finds where two holds that exclude each other were believed at once. It does not use the findings of
// the check, which keeps the first ones only. Only the check knows which permits are too many, so for permits its
// findings are drawn.
func (t *Timeline) markDoubles(in result.Input, took []*history.Acquisition, index map[string]int,
	ends history.Beliefs) {
	mark := func(client string, s spans.Span) {
		if k, shown := index[client]; shown && s.Until > s.From {
			t.Lanes[k].Double = append(t.Lanes[k].Double, s)
		}
	}
	for _, f := range result.OverlapFindings(in.Report) {
		if f.Lock == t.Lock && t.Overlaps(spans.Span{From: f.At, Until: f.Until}) {
			mark(f.Clients[0], spans.Span{From: f.At, Until: f.Until})
			mark(f.Clients[1], spans.Span{From: f.At, Until: f.Until})
		}
	}
	var held []effect.Hold
	for _, a := range took {
		if a.Granted() && (history.Exclusive(a.Mode) || a.Mode == history.ModeRead) {
			held = append(held, effect.Hold{From: a.Returned, Until: ends.BelievedUntil(a), By: a})
		}
	}
	slices.SortStableFunc(held, func(a, b effect.Hold) int { return cmp.Compare(a.From, b.From) })
	effect.EachOverlap(held, func(first, second *effect.Hold) {
		both := spans.Span{From: second.From, Until: min(first.Until, second.Until)}
		mark(first.By.Client, both)
		mark(second.By.Client, both)
	})
	for k := range t.Lanes {
		t.Lanes[k].Double = spans.Merged(t.Lanes[k].Double)
	}
}
