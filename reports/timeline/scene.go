package timeline

import (
	"cmp"
	"math"
	"slices"
	"time"

	"locklab/chaos"
	"locklab/harness/check"
	"locklab/harness/check/evidence"
	"locklab/harness/check/spans"
	"locklab/harness/history"
	"locklab/harness/scenario"
	"locklab/reports/measure"
	"locklab/reports/result"
)

// A Scene is the part of a run that the timeline shows: one lock, a span, and the clients that it is about.
type Scene struct {
	spans.Span
	Lock    string
	Clients []string           // the most important first
	Overlap *evidence.Finding  // if the scene is about one
	Fault   *measure.FaultSpan // if the scene is about one
	Title   string
}

// scenes are what the timelines of a run show.
type scenes struct {
	Lead  *Scene  // what the run is about; nil if an overview of the whole run comes first
	Parts []Scene // what else there is to see, in the order of time
	Left  int     // how many faults and findings have no scene, because there are more than maxParts
}

// maxParts is the most parts of one run.
const maxParts = 8

// chooseScenes chooses what the timelines of a run show. Where at most one fault struck and nothing else was found
// elsewhere, that is one scene. Otherwise there is a part for each fault, for as long as its effect lasted, and for
// each pattern of findings that no fault explains. A scenario with faults of its own choice is about one finding, which
// leads, and no fault of the same kind and target has a part besides. Nothing leads among random faults. Without grants
// and findings there is no scene.
func chooseScenes(in result.Input, faults []measure.FaultSpan) (all scenes) {
	byLock := history.Grants(in.Events)
	lead, ok := chooseScene(in, faults, byLock)
	if !ok {
		return all
	}
	alone := unexplained(in.Report, faults)
	_, about := featured(in)
	drawn := in.Scenario.Schedule == chaos.ScheduleRandom || in.Scenario.Schedule == chaos.ScheduleSwarm
	few := len(faults)+len(alone) <= 1 || len(byLock) == 0
	if few || !drawn && about != nil {
		all.Lead = &lead
	}
	if few {
		return all
	}
	shown := func(f *evidence.Finding) bool {
		shows := func(s Scene) bool { return s.From <= f.At && f.At < s.Until && s.Lock == f.Lock }
		return all.Lead != nil && shows(lead) || slices.ContainsFunc(all.Parts, shows)
	}
	labels := map[string]bool{}
	if all.Lead != nil && lead.Fault != nil {
		labels[lead.Fault.Label()] = true
	}
	standing := gaps(in.Acquisitions, spans.Span{Until: in.Window.End})
	for i := range faults {
		if f := &faults[i]; all.Lead == nil || !labels[f.Label()] {
			labels[f.Label()] = true
			all.Parts = append(all.Parts, faultScene(in, byLock, f, standing))
		}
	}
	for _, f := range alone {
		if !shown(f.Finding) {
			all.Parts = append(all.Parts, findingScene(byLock, f.check, f.Finding))
		}
	}
	// Those about a finding stay, and then the longest ones.
	slices.SortStableFunc(all.Parts, func(a, b Scene) int {
		return cmp.Or(cmp.Compare(b.weight(), a.weight()), cmp.Compare(b.Lasts(), a.Lasts()))
	})
	all.Left = max(0, len(all.Parts)-maxParts)
	all.Parts = all.Parts[:len(all.Parts)-all.Left]
	slices.SortStableFunc(all.Parts, func(a, b Scene) int { return cmp.Compare(a.From, b.From) })
	return all
}

// weight is 1 for a scene about something that a check found.
func (s *Scene) weight() int {
	if s.Overlap != nil || s.Fault == nil {
		return 1
	}
	return 0
}

// A foundBy is a finding with the name of its check.
type foundBy struct {
	check string
	*evidence.Finding
}

// unexplained returns the first finding of each kind, about a client or a violation, that no injected fault explains.
// Where a check found something that a fault explains, its other findings may be consequences of the same, such as the
// sum of the updates that were lost, so only those that are said to have no cause are returned.
func unexplained(report check.Report, faults []measure.FaultSpan) (all []foundBy) {
	seen := map[[2]string]bool{}
	for i := range report.Checks {
		v := &report.Checks[i]
		byFault := func(f evidence.Finding) bool {
			return f.Fault != "" && slices.ContainsFunc(faults, func(o measure.FaultSpan) bool { return o.ID == f.Fault })
		}
		some := slices.ContainsFunc(v.Findings, byFault)
		for k := range v.Findings {
			f := &v.Findings[k]
			key := [2]string{v.Name, string(f.Kind)}
			if byFault(*f) || some && f.Cause != evidence.CauseNone || f.Lock == "" ||
				len(f.Clients) == 0 && !v.Violation || seen[key] {
				continue
			}
			seen[key] = true
			all = append(all, foundBy{v.Name, f})
		}
	}
	return all
}

// chooseScene chooses the most interesting scene: the finding that the run is about, else the first fault, else the
// first holds of the measured window. ok is false if the run has no grants and nothing was found.
func chooseScene(in result.Input, faults []measure.FaultSpan, byLock [][]*history.Acquisition) (s Scene, ok bool) {
	name, f := featured(in)
	switch {
	case f != nil && result.IsOverlap(f):
		return overlapScene(in, faults, *f), true
	case f != nil:
		return findingScene(byLock, name, f), true
	}
	if len(byLock) == 0 {
		return s, false
	}
	if len(faults) > 0 {
		return faultScene(in, byLock, &faults[0], gaps(in.Acquisitions, spans.Span{Until: in.Window.End})), true
	}
	return firstHolds(busiest(byLock), in.Window), true
}

// busiest returns the grants of the lock that has the most.
func busiest(byLock [][]*history.Acquisition) []*history.Acquisition {
	return slices.MaxFunc(byLock, func(a, b []*history.Acquisition) int { return cmp.Compare(len(a), len(b)) })
}

// overlapScene begins a little before the fault that explains an overlap, or before the older hold if there is no
// such fault, and ends a little after the older hold.
func overlapScene(in result.Input, faults []measure.FaultSpan, f evidence.Finding) Scene {
	s := Scene{Lock: f.Lock, Clients: f.Clients, Overlap: &f, Title: OverlapTitle(in, f)}
	s.Span = spans.Span{From: f.At, Until: f.Until}
	start := f.At
	if older := holdOf(in.Acquisitions, f, 0); older != nil {
		start = older.Returned
		s.Until = max(s.Until, newBeliefs(in).BelievedUntil(older))
	}
	for i := range faults {
		if faults[i].ID == f.Fault && f.Fault != "" {
			s.Fault = &faults[i]
			s.From = min(faults[i].From, f.At)
		}
	}
	// A long hold before the fault is cut off.
	start = max(start, s.From-max(3*(f.Until-f.At), s.Lasts()/4))
	s.From = min(s.From, start)
	s.pad(0.08)
	return s
}

// OverlapTitle says what overlapped.
func OverlapTitle(in result.Input, f evidence.Finding) string {
	older, newer := holdOf(in.Acquisitions, f, 0), holdOf(in.Acquisitions, f, 1)
	switch {
	case older != nil && older.Mode == history.ModePermit:
		return "More permits of " + f.Lock + " were believed held than there are"
	case older != nil && (older.Mode == history.ModeRead || newer != nil && newer.Mode == history.ModeRead):
		return "A reader and a writer believed they held " + f.Lock + " at once"
	}
	return "Two clients believed they held " + f.Lock + " at once"
}

// holdOf finds the acquisition of the finding's i-th client.
func holdOf(acq []history.Acquisition, f evidence.Finding, i int) *history.Acquisition {
	var best *history.Acquisition
	for k := range acq {
		a := &acq[k]
		if a.Lock != f.Lock || a.Client != f.Clients[i] || !a.Granted() || a.Returned > f.At {
			continue
		}
		if i < len(f.Tokens) && f.Tokens[i] != 0 && a.Token != f.Tokens[i] {
			continue
		}
		if best == nil || a.Returned > best.Returned {
			best = a
		}
	}
	return best
}

// findingScene shows the grants before a finding, and of what was found no more than three times as much, so that both
// can be seen. If there are no grants before it, it shows the first ones, and without grants all of what was found.
func findingScene(byLock [][]*history.Acquisition, name string, f *evidence.Finding) Scene {
	s := Scene{Lock: f.Lock, Clients: f.Clients, Span: spans.Span{From: f.At, Until: f.At},
		Title: "What " + name + " found on " + f.Lock + ": " + f.Kind.Words()}
	var held []*history.Acquisition
	for _, of := range byLock {
		if of[0].Lock == f.Lock {
			held = of
		}
	}
	i, _ := slices.BinarySearchFunc(held, f.At, func(a *history.Acquisition, t int64) int {
		return cmp.Compare(a.Returned, t)
	})
	after := f.Until
	if i < len(held) {
		after = held[min(i+grantsBefore, len(held)-1)].Returned
	}
	s.Until = after
	if i > 0 {
		s.From = min(s.From, held[i-min(i, grantsBefore)].Returned)
		s.Until = min(max(after, f.Until), f.At+3*max(f.At-s.From, 1e6))
	}
	s.pad(0.03)
	return s
}

// The most grants that a scene of a finding shows before it.
const grantsBefore = 12

// faultScene shows a fault for as long as its effect lasted: on the lock on which something was found that it explains,
// or else on the busiest one.
func faultScene(in result.Input, byLock [][]*history.Acquisition, f *measure.FaultSpan, standing []spans.Span) Scene {
	s := Scene{Fault: f}
	var found []spans.Span
	for i := range in.Report.Checks {
		for k := range in.Report.Checks[i].Findings {
			if of := &in.Report.Checks[i].Findings[k]; of.Fault == f.ID && of.Lock != "" {
				found = append(found, spans.Span{From: f.From, Until: max(of.Until, of.At)})
				s.Lock = cmp.Or(s.Lock, of.Lock)
				s.Clients = append(s.Clients, of.Clients...)
			}
		}
	}
	for _, o := range result.OverlapFindings(in.Report) {
		if o.Fault == f.ID && (s.Overlap == nil || o.At < s.Overlap.At) {
			s.Overlap = &o
		}
	}
	held := busiest(byLock)
	for _, of := range byLock {
		if of[0].Lock == s.Lock {
			held = of
		}
	}
	s.Lock = held[0].Lock
	s.Span = felt(f, standing, found)
	s.Title = "Who held " + s.Lock + " around a fault (" + f.Label() + ")"
	if s.Overlap != nil {
		s.Lock = s.Overlap.Lock
		s.Title = OverlapTitle(in, *s.Overlap) + " (" + f.Label() + ")"
	}
	s.surround(held)
	s.pad(0.08)
	for _, a := range held { // clients on the hosts that were hit, and those that held the lock then
		if f.Hits(a.Process) || a.Returned <= f.From && a.BelievedUntil(math.MaxInt64) > f.From {
			if !slices.Contains(s.Clients, a.Client) && len(s.Clients) < maxLanes/2 {
				s.Clients = append(s.Clients, a.Client)
			}
		}
	}
	return s
}

// firstHolds shows the first holds of the window.
func firstHolds(held []*history.Acquisition, w measure.Interval) Scene {
	const holds = 50
	s := Scene{Lock: held[0].Lock, Title: "Who held " + held[0].Lock + " at the beginning of the measured window"}
	i := slices.IndexFunc(held, func(a *history.Acquisition) bool { return w.Contains(a.Returned) })
	if i < 0 {
		i, s.Title = 0, "Who held "+s.Lock+" at the beginning of the run"
	}
	last := held[i]
	seen := map[string]bool{}
	for _, a := range held[i:min(i+holds, len(held))] { // of no more clients than have rows
		if seen[a.Client] = true; len(seen) > maxLanes {
			break
		}
		last = a
	}
	s.Span = spans.Span{From: held[i].Returned, Until: last.Returned}
	if until := last.BelievedUntil(math.MaxInt64); until != math.MaxInt64 {
		s.Until = until
	}
	s.pad(0.02)
	return s
}

// The grants that a timeline of a fault shows before and after it, and the longest time in which it looks for them if
// the fault had no effect.
const (
	grantsAround = 3
	reach        = 250 * time.Millisecond
)

// surround extends a scene without six grants to the three before it and the three after it, because a fault that lasts
// no time, or an overlap of a millisecond, means nothing by itself. An overlap stays large enough to be seen.
func (s *Scene) surround(held []*history.Acquisition) {
	place := func(t int64) int {
		i, _ := slices.BinarySearchFunc(held, t, func(a *history.Acquisition, t int64) int {
			return cmp.Compare(a.Returned, t)
		})
		return i
	}
	first, after := place(s.From), place(s.Until)
	if after-first >= 2*grantsAround {
		return
	}
	most := 10 * s.Lasts()
	if s.Overlap == nil {
		most = max(most, int64(reach))
	}
	earliest, latest := held[max(first-grantsAround, 0)].Returned, held[min(after+grantsAround, len(held))-1].Returned
	s.From, s.Until = min(s.From, max(earliest, s.From-most)), max(s.Until, min(latest, s.Until+most))
}

// pad extends the scene by a share of its length on both sides.
func (s *Scene) pad(share float64) {
	by := max(int64(float64(s.Lasts())*share), 1e6)
	s.From, s.Until = max(s.From-by, 0), s.Until+by
}

// Anchor is the time that the scene is about.
func (s *Scene) Anchor() int64 {
	switch {
	case s.Overlap != nil:
		return s.Overlap.At
	case s.Fault != nil:
		return s.Fault.From
	}
	return s.From
}

// featured returns the finding that the run is about, and the name of the check that found it; nil if there is none.
//
//   - Of a known bug's scenario, it is what the check found that must find the bug.
//   - Otherwise it is the worst: an overlap that nothing explains, else another violation, else the overlap that did
//     the most damage. The picture of an overlap shows the damage at the resource too, so a violation that is such
//     damage comes last.
func featured(in result.Input) (string, *evidence.Finding) {
	if bug, ok := scenario.BugOf(in.Scenario); ok {
		if f := in.Report.Found(string(bug.Check), bug.Kinds, bug.Cause); f != nil && f.Lock != "" {
			return string(bug.Check), f
		}
	}
	overlaps := result.OverlapFindings(in.Report)
	if i := slices.IndexFunc(overlaps, func(f evidence.Finding) bool { return !f.Explained }); i >= 0 {
		return evidence.BeliefExclusion, &overlaps[i]
	}
	if name, f := violation(in.Report); f != nil && (name != evidence.Effect || len(overlaps) == 0) {
		return name, f
	}
	if len(overlaps) == 0 {
		return "", nil
	}
	harm := harmOf(in.Report)
	worst := slices.MinFunc(overlaps, func(a, b evidence.Finding) int {
		return cmp.Or(cmp.Compare(harm[olderOf(b)], harm[olderOf(a)]), cmp.Compare(a.At, b.At))
	})
	return evidence.BeliefExclusion, &worst
}

// violation returns the first finding about a lock of a check that found a violation, and that check's name. The check
// of the effect comes after all others.
func violation(report check.Report) (name string, found *evidence.Finding) {
	for i := range report.Checks {
		v := &report.Checks[i]
		j := slices.IndexFunc(v.Findings, func(f evidence.Finding) bool { return f.Lock != "" })
		if v.Violation && j >= 0 && (found == nil || name == evidence.Effect) {
			name, found = v.Name, &v.Findings[j]
		}
	}
	return name, found
}

// An outdatedHold names the hold that others have superseded.
type outdatedHold struct {
	lock, client string
	token        int64
}

// olderOf names the older hold of an overlap.
func olderOf(f evidence.Finding) outdatedHold {
	h := outdatedHold{lock: f.Lock, client: f.Clients[0]}
	if len(f.Tokens) > 0 {
		h.token = f.Tokens[0]
	}
	return h
}

// The worst that a hold did when it was outdated. An access that its client made without knowing shows best what a
// lock cannot prevent.
const (
	accessRefused = iota + 1
	untoldRefused
	accessAccepted
	updateLost
	untoldAccepted
)

// harmOf returns the worst that each hold did when it was outdated.
func harmOf(report check.Report) map[outdatedHold]int {
	harm := map[outdatedHold]int{}
	v := report.Check(evidence.Effect)
	if v == nil {
		return harm
	}
	for i := range v.Findings {
		f := &v.Findings[i]
		did := map[evidence.Kind]int{evidence.KindStaleRejected: accessRefused, evidence.KindStaleAccepted: accessAccepted,
			evidence.KindLostUpdate: updateLost}[f.Kind]
		switch {
		case did == 0 || len(f.Clients) == 0 || len(f.Tokens) != len(f.Clients):
			continue
		case f.Untold && did == accessRefused:
			did = untoldRefused
		case f.Untold:
			did = untoldAccepted
		}
		last := len(f.Clients) - 1 // the client of the access; before it stands the one that superseded it
		h := outdatedHold{f.Lock, f.Clients[last], f.Tokens[last]}
		harm[h] = max(harm[h], did)
	}
	return harm
}
