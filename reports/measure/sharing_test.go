package measure

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"locklab/harness/history"
	"locklab/reports/internal/synth"
)

func as(mode history.Mode, permits int64, a history.Acquisition) history.Acquisition {
	a.Mode, a.Permits = mode, permits
	return a
}

func TestRounds(t *testing.T) {
	w := func(c string, queued, granted, release float64) history.Acquisition {
		return as(history.ModeWrite, 0, synth.Grant(c, queued-1, queued, granted, release))
	}
	r := func(c string, queued, granted, release float64) history.Acquisition {
		return as(history.ModeRead, 0, synth.Grant(c, queued-1, queued, granted, release))
	}
	lost := r("b", 5, 23, 30)
	lost.ReleaseInvoked, lost.ReleaseReturned, lost.ReleaseOutcome = history.None, history.None, history.Info
	round := func(readers int, count int64, mean, sd float64) Round {
		ns := synth.Ms(mean)
		return Round{readers, Spacing{Count: count, MeanNs: &ns, SDNs: new(synth.Ms(sd))}, 0}
	}
	for _, c := range []struct {
		name string
		acq  []history.Acquisition
		want []Round
	}{
		{"two readers between writers", []history.Acquisition{w("a", 1, 10, 20), r("b", 5, 22, 27), r("c", 6, 23, 29),
			w("d", 7, 32, 37)}, []Round{round(2, 1, 12, 0)}},
		{"writer to writer", []history.Acquisition{w("a", 1, 10, 20), w("b", 5, 23, 30), w("c", 6, 32, 40),
			r("d", 7, 42, 47)}, []Round{round(0, 2, 2.5, 0.5)}},
		// c comes when the readers are in: so did not wait for them from the first.
		{"a reader came late", []history.Acquisition{w("a", 1, 10, 20), r("b", 5, 22, 27), r("c", 21, 23, 29),
			w("d", 7, 32, 37)}, []Round{}},
		{"the writer came late", []history.Acquisition{w("a", 1, 10, 20), r("b", 5, 22, 27), w("d", 28, 32, 37)}, []Round{}},
		{"the writer came while readers were in", []history.Acquisition{w("a", 1, 10, 20), r("b", 5, 22, 27),
			w("d", 25, 29, 37)}, []Round{round(1, 1, 9, 0)}},
		{"a reader never released", []history.Acquisition{w("a", 1, 10, 20), lost, w("d", 7, 32, 37)}, []Round{}},
		{"out of the window", []history.Acquisition{w("a", 900, 910, 1001), r("b", 905, 1003, 1008),
			w("d", 906, 1010, 1020)}, []Round{}},
	} {
		if diff := cmp.Diff(c.want, SharingOf(history.GrantsByLock(c.acq), wholeSecond, 0).Rounds); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	alone := history.GrantsByLock([]history.Acquisition{synth.Grant("a", 0, 1, 10, 20), synth.Grant("b", 5, 6, 23, 30)})
	if s := SharingOf(alone, wholeSecond,
		0); s != nil {
		t.Errorf("of a mutex: %+v", s)
	}
}

func TestGrantSpacing(t *testing.T) {
	p := func(c string, n int64, queued, granted, release float64) history.Acquisition {
		return as(history.ModePermit, n, synth.Grant(c, queued-1, queued, granted, release))
	}
	for _, c := range []struct {
		name    string
		acq     []history.Acquisition
		permits int
		mean    float64 // ms; 0 = none
		sd      float64
		count   int64
	}{
		{"free permits", []history.Acquisition{p("a", 1, 1, 10, 20), p("b", 1, 2, 13, 20), p("c", 1, 3, 18, 28)}, 4, 4, 1, 2},
		// c waits for one of two permits, and not for the queue.
		{"none free", []history.Acquisition{p("a", 1, 1, 10, 20), p("b", 1, 2, 13, 20), p("c", 1, 3, 23, 28)}, 2, 3, 0, 1},
		{"b is not queued yet", []history.Acquisition{p("a", 1, 1, 10, 20), p("b", 1, 11, 13, 20)}, 4, 0, 0, 0},
		{"too many asked for", []history.Acquisition{p("a", 2, 1, 10, 20), p("b", 3, 2, 13, 20)}, 4, 0, 0, 0},
		{"a release is over", []history.Acquisition{p("a", 1, 1, 10, 20), p("b", 1, 2, 25, 30), p("c", 1, 3, 28, 35)}, 2,
			9, 6, 2},
		{"how many there are is not known", []history.Acquisition{p("a", 1, 1, 10, 20), p("b", 1, 2, 13, 20)}, 0, 0, 0, 0},
		{"out of the window", []history.Acquisition{p("a", 1, 1, 1010, 1020), p("b", 1, 2, 1013, 1020)}, 4, 0, 0, 0},
	} {
		got := SharingOf(history.GrantsByLock(c.acq), wholeSecond, c.permits).Grants
		if got.Count != c.count || (c.count > 0 && (*got.MeanNs != synth.Ms(c.mean) || *got.SDNs != synth.Ms(c.sd))) ||
			(c.count == 0 && got.MeanNs != nil) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

// Stalls are part of the rate at which permits are given out.
func TestGrantSpacingHasStalls(t *testing.T) {
	var acq []history.Acquisition
	granted := 10.0
	for i := range 41 {
		if granted += 2; i == 20 {
			granted += 100
		}
		acq = append(acq, as(history.ModePermit, 1, synth.Grant("a", 0, 1, granted, granted+1)))
	}
	got := SharingOf(history.GrantsByLock(acq), wholeSecond, 4).Grants
	if got.Count != 40 || *got.MeanNs != synth.Ms((39*2+102)/40.0) {
		t.Errorf("%+v", got)
	}
}

// A stall of the machine is counted, but is not in the mean. A slow round is in the mean.
func TestRoundsLeaveStallsOut(t *testing.T) {
	var spans []seenRound
	for i := range 40 {
		spans = append(spans, seenRound{1, float64(synth.Ms(10 + 0.1*float64(i%5)))},
			seenRound{4, float64(synth.Ms(14 + 0.1*float64(i%5)))})
	}
	spans = append(spans, seenRound{4, float64(synth.Ms(300))}, seenRound{1, float64(synth.Ms(10.6))})
	got := bySize(spans)
	if len(got) != 2 || got[0].FarOut != 0 || got[0].Count != 41 || got[1].FarOut != 1 || got[1].Count != 40 ||
		*got[1].MeanNs != synth.Ms(14.2) {
		t.Errorf("%+v", got)
	}
}
