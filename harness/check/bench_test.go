package check

import (
	"fmt"
	"testing"
	"time"

	"locklab/harness/history"
)

// million is a saturated run of 16 clients: a million holds, end to end.
func million() []history.Acquisition {
	all := make([]history.Acquisition, 1_000_000)
	clients := make([]string, 16)
	for i := range clients {
		clients[i] = fmt.Sprintf("c1/%d", i)
	}
	for i := range all {
		at := int64(i) * 1000
		all[i] = history.Acquisition{Process: "c1", Client: clients[i%16], Lock: "l1", N: int64(i), Token: int64(i + 1), Outcome: history.OK,
			Invoked: at - 15000, Returned: at, ReleaseInvoked: at + 900, ReleaseReturned: at + 1100, ReleaseOutcome: history.OK,
			Lost: history.None, Died: history.None, Queued: history.None}
	}
	return all
}

// BenchmarkSweep is the interval sweep alone, over 1 M acquisitions.
func BenchmarkSweep(b *testing.B) {
	all := million()
	holds := make([]hold, len(all))
	for i := range all {
		holds[i] = hold{all[i].Returned, all[i].BelievedUntil(1 << 60), &all[i]}
	}
	for b.Loop() {
		eachOverlap(holds, func(*hold, *hold) { b.Fatal("an overlap") })
	}
}

// BenchmarkExcess is the same of a semaphore with eight permits, all of them taken.
func BenchmarkExcess(b *testing.B) {
	all := million()
	holds := make([]hold, len(all))
	for i := range all {
		all[i].Mode, all[i].Permits = history.ModePermit, 1
		holds[i] = hold{all[i].Returned, all[i].Returned + 7900, &all[i]}
	}
	for b.Loop() {
		eachExcess(holds, 8, nil, func(*hold, *hold, int64, int64, int64) { b.Fatal("an excess") })
	}
}

// BenchmarkReaders is the sweep over readers of which 16 overlap at a time.
func BenchmarkReaders(b *testing.B) {
	all := million()
	holds := make([]hold, len(all))
	for i := range all {
		all[i].Mode = history.ModeRead
		holds[i] = hold{all[i].Returned, all[i].Returned + 15900, &all[i]}
	}
	for b.Loop() {
		eachOverlap(holds, func(*hold, *hold) { b.Fatal("an overlap") })
	}
}

// BenchmarkRun is every check over the events of 1 M acquisitions.
func BenchmarkRun(b *testing.B) {
	var events []history.Event
	add := func(e history.Event) { events = append(events, e) }
	add(history.Event{Op: history.OpPhase, Detail: history.PhaseMeasure})
	for i, a := range million() {
		at := int64(i)*1000 + 100_000
		e := history.Event{At: at, Process: a.Process, Client: a.Client, Lock: a.Lock, Acq: a.N + 1, Token: a.Token, Op: history.OpAcquire, Kind: history.Invoke}
		add(e)
		e.At, e.Kind = at+100, history.OK
		add(e)
		e.At, e.Op, e.Kind = at+800, history.OpRelease, history.Invoke
		add(e)
		e.At, e.Kind = at+900, history.OK
		add(e)
	}
	end := events[len(events)-1].At
	add(history.Event{At: end, Op: history.OpPhase, Detail: history.PhaseDrain})
	add(history.Event{At: end, Op: history.OpPhase, Detail: history.PhaseCollect})
	add(history.Event{At: end, Op: history.OpEnd, Detail: history.EndComplete})
	facts := recipes["queue"]
	facts.SessionTimeout, facts.Tick = 6*time.Second, time.Second
	for b.Loop() {
		if r := Run(events, facts); r.Verdict != Pass {
			b.Fatal(describeReport(&r))
		}
	}
}
