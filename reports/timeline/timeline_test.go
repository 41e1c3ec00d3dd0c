package timeline

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"locklab/harness/check"
	"locklab/harness/check/evidence"
	"locklab/harness/check/spans"
	"locklab/harness/history"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/reports/internal/synth"
	"locklab/reports/measure"
	"locklab/reports/result"
	"locklab/reports/words"
	"locklab/workloads"
)

func inputOf(run *rundir.Run, facts evidence.Facts) result.Input {
	return result.NewInput(run, check.Run(run.Events, facts))
}

func timelineOf(t *testing.T, in result.Input) Timeline {
	t.Helper()
	ts := New(in, measure.FaultSpans(in.Events))
	if len(ts.All) != 1 {
		t.Fatalf("%d timelines, want one", len(ts.All))
	}
	return ts.All[0]
}

func TestTimelineTellsTheStory(t *testing.T) {
	tl := timelineOf(t, inputOf(synth.Act2Run(false)))
	var story []string
	for _, m := range tl.Moments {
		story = append(story, m.Text)
	}
	want := []string{"c1 is stopped", "c1/1’s session has ended at the servers", "c2/1 gets the lock", "c1 goes on",
		"c1/1 writes: accepted, though outdated", "c1/1 learns that it lost the lock"}
	if diff := cmp.Diff(want, story); diff != "" {
		t.Errorf("story (-want +got):\n%s", diff)
	}
	if tl.From >= synth.Ms(1000) || tl.From < synth.Ms(500) || tl.Until <= synth.Ms(3925) || tl.Until > synth.Ms(4500) {
		t.Errorf("scene from %d to %d does not run from a little before to a little after", tl.From, tl.Until)
	}
	if len(tl.Lanes) != 5 || tl.Lanes[0].Client != "c1/1" || tl.Lanes[1].Client != "c2/1" {
		t.Errorf("lanes %v", tl.Lanes)
	}
	victim := tl.Lanes[0]
	if diff := cmp.Diff([]spans.Span{{From: synth.Ms(1010), Until: synth.Ms(3900)}}, victim.Stopped); diff != "" {
		t.Errorf("stopped (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]spans.Span{{From: synth.Ms(1000), Until: synth.Ms(3925)}}, spansOf(victim.Holds)); diff != "" {
		t.Errorf("believed until it learned of the loss (-want +got):\n%s", diff)
	}
	// c2 from 3300 to 3420, and again from 3855 until the victim learns.
	if diff := cmp.Diff(spans.List{{From: synth.Ms(3300), Until: synth.Ms(3420)},
		{From: synth.Ms(3855), Until: synth.Ms(3925)}}, tl.Lanes[1].Double); diff != "" {
		t.Errorf("two at once (-want +got):\n%s", diff)
	}
	if n := len(victim.Double); n != 5 {
		t.Errorf("the victim overlaps %d others, want 5", n)
	}
	for _, h := range tl.Held {
		if h.Client == "c1/1" && (h.From != synth.Ms(999) || h.Until != synth.Ms(3296)) {
			t.Errorf("the observer saw c1/1 hold from %d to %d", h.From, h.Until)
		}
	}
}

func TestTimelineOfARefusedWrite(t *testing.T) {
	tl := timelineOf(t, inputOf(synth.Act2Run(true)))
	refused := 0
	for _, a := range tl.Accesses {
		if a.Stale {
			t.Errorf("%+v counts as accepted though outdated", a)
		}
		if a.Refused {
			refused++
		}
	}
	if refused != 1 {
		t.Errorf("%d refused, want 1", refused)
	}
	if !strings.Contains(tl.Moments[4].Text, "refused as outdated") {
		t.Errorf("moments %v", tl.Moments)
	}
}

// A run with several faults has an overview and a timeline for each, as long as its effect lasted.
func TestTimelinesOfFaults(t *testing.T) {
	in := inputOf(synth.BusyRun(64, 20, true))
	ts := New(in, measure.FaultSpans(in.Events))
	if len(ts.All) != 3 || ts.Left != 0 || ts.All[0].File != "timeline" || ts.All[1].File != "timeline-1" ||
		ts.All[2].File != "timeline-2" {
		t.Fatalf("%d timelines and %d left, want an overview, the kill's and the partition's", len(ts.All), ts.Left)
	}
	all := ts.All[1:]
	for i, want := range []struct {
		kind     string
		from, to float64
	}{{"kill", 9000, 14000}, {"partition", 15500, 17000}} {
		tl := all[i]
		pad := (want.to - want.from) * 0.09
		if tl.Fault == nil || tl.Fault.Kind != want.kind || tl.From > synth.Ms(want.from) || tl.Until < synth.Ms(want.to) ||
			tl.From < synth.Ms(want.from-pad) || tl.Until > synth.Ms(want.to+pad) {
			t.Errorf("timeline %d is of %v, %v", i+1, tl.Fault, tl.Span)
		}
		if len(tl.Lanes) != maxLanes || tl.Hidden != 64-maxLanes {
			t.Errorf("timeline %d has %d lanes, and %d hidden", i+1, len(tl.Lanes), tl.Hidden)
		}
	}
	o := ts.All[0]
	if len(o.Overview.Gaps) != 1 || o.Overview.Gaps[0].From < synth.Ms(8950) || o.Overview.Gaps[0].From > synth.Ms(9000) ||
		o.Overview.Gaps[0].Until != synth.Ms(11400) {
		t.Errorf("gaps %v, want one from 9 s to 11.4 s", o.Overview.Gaps)
	}
	if o.From > synth.Ms(4000) || o.Until < synth.Ms(24000) || len(o.Faults) != 2 || len(o.Lanes) != 2*maxLanes {
		t.Errorf("overview of %v with %d faults and %d lanes", o.Span, len(o.Faults), len(o.Lanes))
	}
	for _, l := range o.Lanes {
		for _, s := range l.Shares {
			if s.From > synth.Ms(9200) && s.Until < synth.Ms(11200) {
				t.Errorf("%s holds in the gap, from %d to %d", l.Client, s.From, s.Until)
			}
		}
	}
}

// A fault that lasts no time is shown among the grants around it, and so is a short overlap, which stays visible.
func TestTimelineSurroundsAnInstant(t *testing.T) {
	var held []*history.Acquisition
	for i := range 100 { // every 10 ms from 0.01 ms on
		held = append(held, &history.Acquisition{Returned: int64(i)*10e6 + 1e4})
	}
	for _, c := range []struct {
		from, to         float64
		overlap          bool
		wantFrom, wantTo float64 // in ms
	}{
		{500, 500, false, 470.01, 520.01},
		{500, 501, true, 490, 511},
		{500, 540, false, 470.01, 560.01},
		{500, 600, false, 500, 600},
		{5, 5, false, 0.01, 30.01},
		{985, 995, false, 960.01, 995},
		{2000, 2000, false, 1750, 2000},
	} {
		s := Scene{Span: spans.Span{From: synth.Ms(c.from), Until: synth.Ms(c.to)}}
		if c.overlap {
			s.Overlap = &evidence.Finding{}
		}
		s.surround(held)
		if want := (spans.Span{From: synth.Ms(c.wantFrom), Until: synth.Ms(c.wantTo)}); s.Span != want {
			t.Errorf("%v ms to %v ms is shown as %v, want %v", c.from, c.to, s.Span, want)
		}
	}
}

// The effect of a fault lasts until the clients make progress again.
func TestEffectOutlastsTheFault(t *testing.T) {
	f := measure.FaultSpan{Span: spans.Span{From: 100, Until: 200}}
	got := felt(&f, []spans.Span{{From: 10, Until: 20}, {From: 190, Until: 400}, {From: 500, Until: 600}},
		[]spans.Span{{From: 100, Until: 250}})
	if want := (spans.Span{From: 100, Until: 400}); got != want {
		t.Errorf("%v, want %v", got, want)
	}
}

// No gap is one in which nobody waited.
func TestGapsAreOfWaiters(t *testing.T) {
	s := &synth.Synth{}
	at := 0.0
	hold := func(client string, asked float64) {
		s.Acquire(synth.Acq{Client: client, N: int64(at), Token: int64(at), Invoke: asked, Granted: at + 1, Release: at + 2})
	}
	for at = 1; at < 100; at += 3 {
		hold("c1/1", at)
	}
	at = 300 // nobody asked before
	hold("c1/1", 299)
	at = 600 // c2/1 asked at 400
	hold("c2/1", 400)
	run := synth.RunOf(s.Sorted(), scenario.Scenario{Load: workloads.Load{Arrivals: workloads.Closed}})
	all := gaps(run.Acquisitions, spans.Span{Until: synth.Ms(700)})
	if diff := cmp.Diff([]spans.Span{{From: synth.Ms(400), Until: synth.Ms(601)}}, all); diff != "" {
		t.Errorf("gaps (-want +got):\n%s", diff)
	}
}

// A client that writes after it learned of its loss has a row that shows it.
func TestTimelineShowsAWriteAfterTheLoss(t *testing.T) {
	in := inputOf(synth.Act2Run(false))
	for i := range in.Acquisitions {
		if a := &in.Acquisitions[i]; a.Client == "c1/1" {
			trouble := *a.Trouble
			trouble.Lost = synth.Ms(3905) // before the write at 3912
			a.Trouble = &trouble
		}
	}
	victim := timelineOf(t, in).Lanes[0]
	if diff := cmp.Diff([]spans.Span{{From: synth.Ms(3905), Until: synth.Ms(3912)}}, victim.After); diff != "" {
		t.Errorf("after the loss (-want +got):\n%s", diff)
	}
}

// found returns the timeline of what liveness found; false if there is none.
func found(in result.Input) (Timeline, bool) {
	all := New(in, measure.FaultSpans(in.Events)).All
	i := slices.IndexFunc(all, func(tl Timeline) bool {
		return strings.HasSuffix(tl.Title, "What liveness found on "+synth.TheLock+": slow hand off")
	})
	if i < 0 {
		return Timeline{}, false
	}
	return all[i], true
}

// A violation without an overlap is shown with the grants before it, beside the faults, and only if its check found a
// violation.
func TestTimelineOfAFinding(t *testing.T) {
	in := inputOf(synth.BusyRun(8, 20, true))
	v := in.Report.Check(evidence.Liveness)
	v.Findings = []evidence.Finding{{Kind: "slow-hand-off", Lock: synth.TheLock, At: synth.Ms(5000),
		Until: synth.Ms(6500)}}
	if tl, ok := found(in); ok {
		t.Errorf("%q of a check that found no violation", tl.Title)
	}
	v.Violation = true
	tl, ok := found(in)
	if !ok || tl.Fault != nil {
		t.Fatalf("no timeline of a violation, or one of a fault: %q", tl.Title)
	}
	before := 0
	for _, l := range tl.Lanes {
		for _, h := range l.Holds {
			if h.From >= tl.From && h.From < synth.Ms(5000) {
				before++
			}
		}
	}
	if before < grantsBefore || before > grantsBefore+2 || tl.Until <= synth.Ms(5000) || tl.Until > synth.Ms(6700) {
		t.Errorf("%d grants before it, in the scene %v", before, tl.Span)
	}

	v.Findings[0].At = 0 // before all grants
	if tl, _ := found(in); tl.Until < grant(in, grantsBefore) || tl.Until > grant(in, 2*grantsBefore) {
		t.Errorf("of a finding before all grants: %v", tl.Span)
	}
	events := in.Events.Events()
	for i := range events {
		if e := &events[i]; e.Op == history.OpAcquire && e.Kind == history.OK {
			e.Kind = history.Fail
		}
	}
	in.Events = history.NewLog(events)
	in.Acquisitions = history.Acquisitions(in.Events)
	if tl := timelineOf(t, in); tl.From > 0 || tl.Until < synth.Ms(6500) || len(tl.Lanes) == 0 {
		t.Errorf("of a finding without grants: %v", tl.Span)
	}
}

// grant returns when the i-th grant of a run's one lock was.
func grant(in result.Input, i int) int64 { return history.Grants(in.Events)[0][i].Returned }

func TestTimelineWithoutFaults(t *testing.T) {
	tl := timelineOf(t, inputOf(synth.BusyRun(12, 4, false)))
	holds := 0
	for _, l := range tl.Lanes {
		for _, h := range l.Holds {
			if h.Overlaps(tl.Span) {
				holds++
			}
		}
	}
	if holds < 50 || holds > 53 {
		t.Errorf("%d holds, want the first 50 or so", holds)
	}
	if len(tl.Moments) != 0 {
		t.Errorf("moments %v", tl.Moments)
	}
}

// Readers that hold together are not drawn as an overlap; readers beside a writer are.
func TestTimelineOfReadersAndWriters(t *testing.T) {
	in := inputOf(synth.ReadWriteRun())
	if want := "One client believed it still held the lock while others got it 6 times in turn, for 615 ms in all, " +
		"after it was paused longer than its session timeout."; !strings.HasPrefix(in.Result.Headline, want) {
		t.Errorf("headline %q", in.Result.Headline)
	}
	tl := timelineOf(t, in)
	double := map[string][]spans.Span{}
	for _, l := range tl.Lanes {
		double[l.Client] = l.Double
		if l.Client == "c2/1" && (len(l.Reads) != 3 || len(l.Holds) != 0) {
			t.Errorf("c2/1 reads %v, holds %v", l.Reads, l.Holds)
		}
	}
	want := map[string][]spans.Span{
		"c1/1": {{From: synth.Ms(3300), Until: synth.Ms(3560)}, {From: synth.Ms(3565), Until: synth.Ms(3750)},
			{From: synth.Ms(3755), Until: synth.Ms(3925)}},
		"c2/1": {{From: synth.Ms(3300), Until: synth.Ms(3420)}, {From: synth.Ms(3755), Until: synth.Ms(3925)}},
		"c3/1": {{From: synth.Ms(3304), Until: synth.Ms(3500)}, {From: synth.Ms(3759), Until: synth.Ms(3925)}},
		"c4/1": {{From: synth.Ms(3308), Until: synth.Ms(3560)}}, "c5/1": {{From: synth.Ms(3565), Until: synth.Ms(3750)}},
	}
	if diff := cmp.Diff(want, double); diff != "" {
		t.Errorf("overlaps (-want +got):\n%s", diff)
	}
	if m := tl.Moments; !slices.ContainsFunc(m, func(m moment) bool { return m.Text == "c2/1 gets the lock to read" }) {
		t.Errorf("moments %v", m)
	}
	if tl.Title != "A reader and a writer believed they held "+synth.TheLock+" at once" {
		t.Errorf("title %q", tl.Title)
	}
	stale := 0
	for _, a := range tl.Accesses {
		if a.Stale {
			stale++
		}
	}
	if stale != 1 || words.Value(in.Result.Safety.StaleAccepted) != 1 {
		t.Errorf("%d stale in the picture, %d by the check", stale, words.Value(in.Result.Safety.StaleAccepted))
	}
}

// A writer that became a reader keeps a read hold whose token may be the newer one, although it was there first.
func TestTheClientThatCameLastGetsTheLock(t *testing.T) {
	held := func(client string, mode history.Mode, token, since int64) history.Acquisition {
		return history.Acquisition{Claimant: &history.Claimant{Client: client, Lock: synth.TheLock, Mode: mode},
			Trouble: &history.Trouble{Lost: history.None}, Token: token, Outcome: history.OK, Returned: since}
	}
	in := inputOf(synth.ReadWriteRun())
	in.Acquisitions = []history.Acquisition{held("c1/1", history.ModeWrite, 5, 200),
		held("c2/1", history.ModeRead, 6, 100)}
	tl := &Timeline{Scene: Scene{Span: spans.Span{Until: 1000}, Overlap: &evidence.Finding{Lock: synth.TheLock, At: 200,
		Clients: []string{"c1/1", "c2/1"}, Tokens: []int64{5, 6}}}}
	if m := moments(in, tl); !slices.ContainsFunc(m, func(m moment) bool {
		return m.At == 200 && m.Text == "c1/1 gets the lock to write"
	}) {
		t.Errorf("moments %v", m)
	}
}

// A write stands where its client called it. Of a read only the answer is recorded, whatever its client wrote before.
func TestAccessesStandWhereTheyWereCalled(t *testing.T) {
	event := func(at int64, process string, kind history.Kind, op history.Op) history.Event {
		return history.Event{At: at, Process: process, Kind: kind, Op: op, Client: "c1/1", Acq: 1, Lock: synth.TheLock}
	}
	in := inputOf(synth.Act2Run(false))
	in.Events = history.NewLog([]history.Event{event(10, "c1", history.Invoke, history.OpWrite),
		event(20, "r1", history.OK, history.OpWrite), event(50, "r1", history.OK, history.OpRead)})
	var called []int64
	for _, a := range accesses(in, []Scene{{Span: spans.Span{Until: 100}, Lock: synth.TheLock}})[0] {
		called = append(called, a.Called)
	}
	if diff := cmp.Diff([]int64{10, 50}, called); diff != "" {
		t.Errorf("called (-want +got):\n%s", diff)
	}
}

// Three clients believe they hold one of two permits once the stopped client's permit is granted again.
func TestTimelineOfASemaphore(t *testing.T) {
	in := inputOf(synth.SemaphoreRun())
	tl := timelineOf(t, in)
	double := map[string][]spans.Span{}
	for _, l := range tl.Lanes {
		double[l.Client] = l.Double
	}
	// Three of two from 3304 to 3500, from 3510 to 3700, and from 3705 to 3925.
	want := map[string][]spans.Span{
		"c1/1": {{From: synth.Ms(3304), Until: synth.Ms(3500)}, {From: synth.Ms(3510), Until: synth.Ms(3700)},
			{From: synth.Ms(3705), Until: synth.Ms(3925)}},
		"c2/1": nil, "c3/1": {{From: synth.Ms(3304), Until: synth.Ms(3500)}},
		"c4/1": {{From: synth.Ms(3510), Until: synth.Ms(3700)}}, "c5/1": {{From: synth.Ms(3705), Until: synth.Ms(3925)}},
	}
	if diff := cmp.Diff(want, double); diff != "" {
		t.Errorf("overlaps (-want +got):\n%s", diff)
	}
	if tl.Title != "More permits of "+synth.TheLock+" were believed held than there are" {
		t.Errorf("title %q", tl.Title)
	}
	for _, a := range tl.Accesses { // c1's write, in the slot that c3 and c5 had since
		if a.Stale != (a.Client == "c1/1" && a.Op == history.OpWrite) {
			t.Errorf("access %+v", a)
		}
	}
}

// Without an observer and a resource their rows are left out.
func TestTimelineDrawsOnlyWhatIsKnown(t *testing.T) {
	in := inputOf(synth.Act2Run(false))
	var events []history.Event
	for _, e := range in.Events.All() {
		if e.Op != history.OpHeld && e.Process != "r1" {
			events = append(events, e)
		}
	}
	in.Events = history.NewLog(events)
	if tl := timelineOf(t, in); tl.Held != nil || tl.Accesses != nil {
		t.Errorf("held %v, accesses %v", tl.Held, tl.Accesses)
	}
}

func TestCommonSpans(t *testing.T) {
	got := common(spans.List{{From: 1, Until: 5}, {From: 7, Until: 9}},
		[]spans.Span{{From: 0, Until: 2}, {From: 4, Until: 8}, {From: 9, Until: 10}})
	if diff := cmp.Diff([]spans.Span{{From: 1, Until: 2}, {From: 4, Until: 5}, {From: 7, Until: 8}}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// After the record ends it is not known what a client believed, and the picture does not show more than the check
// knows.
func TestTimelineOfABrokenRunDoesNotGuess(t *testing.T) {
	in := inputOf(synth.Act2Run(false))
	all := in.Events.Events()
	i := slices.IndexFunc(all, func(e history.Event) bool { return e.At > synth.Ms(3600) })
	run := synth.RunOf(all[:i], *in.Scenario)
	run.Partial = true
	in = inputOf(run, evidence.Facts{Tokens: true, Queue: true, Exclusive: true, Partial: true})
	victim := timelineOf(t, in).Lanes[0]
	if diff := cmp.Diff([]spans.Span{{From: synth.Ms(1000), Until: synth.Ms(1010)}}, spansOf(victim.Holds)); diff != "" {
		t.Errorf("believed (-want +got):\n%s", diff)
	}
	if len(victim.Unsure) != 1 || victim.Unsure[0].From != synth.Ms(1010) || len(victim.Double) != 0 {
		t.Errorf("unsure %v, double %v", victim.Unsure, victim.Double)
	}
}

// The servers' own log comes before an observer's watch, and says how exact it is.
func TestTimelineOfTheServersLog(t *testing.T) {
	in := inputOf(synth.Act2Run(false))
	in.Report.ServerHolds = &check.ServerHolds{Err: 4_500_000, Locks: map[string][]check.ServerHold{synth.TheLock: {
		{Client: "c1/1", Token: 1, From: 0, Until: synth.Ms(2000), First: 1, Last: 2},
		{Client: "c2/1", Token: 2, From: synth.Ms(1500), Until: math.MaxInt64, First: 2},
	}}}
	tl := timelineOf(t, in)
	if len(tl.Held) != 2 || tl.HeldErr != 4_500_000 || tl.HeldBy != "(their logs, ±4.5 ms)" || tl.Held[0].Row != 0 ||
		tl.Held[1].Row != 1 {
		t.Errorf("%+v, %d, %s", tl.Held, tl.HeldErr, tl.HeldBy)
	}
	if caption := tl.caption(); !strings.Contains(caption, "to within 4.5 ms") {
		t.Error(caption)
	}
}
