package reports

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"locklab/harness/check"
	"locklab/harness/history"
)

func timelineOf(t *testing.T, in Input) timeline {
	t.Helper()
	tl, ok := newTimeline(in, measuredWindow(in.Events), faultSpans(in.Events))
	if !ok {
		t.Fatal("no timeline")
	}
	return tl
}

func TestTimelineTellsTheStory(t *testing.T) {
	tl := timelineOf(t, act2Input(false))
	var story []string
	for _, m := range tl.Moments {
		story = append(story, m.Text)
	}
	want := []string{"c1 is stopped", "c1/1’s session has ended at the servers", "c2/1 gets the lock", "c1 goes on",
		"c1/1 writes: accepted, though outdated", "c1/1 learns that it lost the lock"}
	if diff := cmp.Diff(want, story); diff != "" {
		t.Errorf("story (-want +got):\n%s", diff)
	}
	if tl.From >= ms(1000) || tl.From < ms(500) || tl.To <= ms(3925) || tl.To > ms(4500) {
		t.Errorf("scene from %d to %d does not run from a little before to a little after", tl.From, tl.To)
	}
	if len(tl.Lanes) != 5 || tl.Lanes[0].Client != "c1/1" || tl.Lanes[1].Client != "c2/1" {
		t.Errorf("lanes %v", tl.Lanes)
	}
	victim := tl.Lanes[0]
	if diff := cmp.Diff([]span{{ms(1010), ms(3900)}}, victim.Stopped); diff != "" {
		t.Errorf("stopped (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]span{{ms(1000), ms(3925)}}, victim.Holds); diff != "" {
		t.Errorf("believed until it learned of the loss (-want +got):\n%s", diff)
	}
	// c2 from 3300 to 3420, and again from 3855 until the victim learns.
	if diff := cmp.Diff([]span{{ms(3300), ms(3420)}, {ms(3855), ms(3925)}}, tl.Lanes[1].Double); diff != "" {
		t.Errorf("two at once (-want +got):\n%s", diff)
	}
	if n := len(victim.Double); n != 5 {
		t.Errorf("the victim overlaps %d others, want 5", n)
	}
	for _, h := range tl.Held {
		if h.Client == "c1/1" && (h.From != ms(999) || h.To != ms(3296)) {
			t.Errorf("the observer saw c1/1 hold from %d to %d", h.From, h.To)
		}
	}
}

func TestTimelineOfARefusedWrite(t *testing.T) {
	tl := timelineOf(t, act2Input(true))
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

func TestTimelineOfAFault(t *testing.T) {
	in := busyInput(64, 20, true)
	tl := timelineOf(t, in)
	if tl.Fault == nil || tl.Fault.Kind != "kill" || len(tl.Lanes) != maxLanes || tl.Hidden != 64-maxLanes {
		t.Fatalf("fault %v, %d lanes, %d hidden", tl.Fault, len(tl.Lanes), tl.Hidden)
	}
	if tl.From > ms(9000) || tl.To < ms(11400) {
		t.Errorf("scene %v leaves out the gap from 9 s to 11.4 s", tl.span)
	}
}

func TestTimelineWithoutFaults(t *testing.T) {
	tl := timelineOf(t, busyInput(12, 4, false))
	holds := 0
	for _, l := range tl.Lanes {
		for _, h := range l.Holds {
			if h.overlaps(tl.span) {
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

// Without an observer and a resource their rows are left out.
func TestTimelineDrawsOnlyWhatIsKnown(t *testing.T) {
	in := act2Input(false)
	var events []history.Event
	for _, e := range in.Events {
		if e.Op != history.OpHeld && e.Process != "r1" {
			events = append(events, e)
		}
	}
	in.Events = events
	if tl := timelineOf(t, in); tl.Held != nil || tl.Accesses != nil {
		t.Errorf("held %v, accesses %v", tl.Held, tl.Accesses)
	}
}

func TestUnion(t *testing.T) {
	got := union([]span{{5, 9}, {1, 3}, {2, 4}, {9, 10}})
	if diff := cmp.Diff([]span{{1, 4}, {5, 10}}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Where the record ends nobody knows what a client believed, and the picture
// does not say more than the check.
func TestTimelineOfABrokenRunDoesNotGuess(t *testing.T) {
	in := act2Input(false)
	i := slices.IndexFunc(in.Events, func(e history.Event) bool { return e.At > ms(3600) })
	meta := in.Meta
	meta.Partial = true
	in = input(in.Events[:i], check.Facts{Tokens: true, Queue: true, Exclusive: true, Partial: true}, meta)
	victim := timelineOf(t, in).Lanes[0]
	if diff := cmp.Diff([]span{{ms(1000), ms(1010)}}, victim.Holds); diff != "" {
		t.Errorf("believed (-want +got):\n%s", diff)
	}
	if len(victim.Unsure) != 1 || victim.Unsure[0].From != ms(1010) || len(victim.Double) != 0 {
		t.Errorf("unsure %v, double %v", victim.Unsure, victim.Double)
	}
}
