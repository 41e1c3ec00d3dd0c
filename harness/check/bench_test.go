package check

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"locklab/ensembles/txnlog"
	"locklab/harness/check/effect"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
)

// million is a saturated run of 16 clients: a million holds, end to end.
func million() []history.Acquisition {
	all := make([]history.Acquisition, 1_000_000)
	clients := make([]history.Claimant, 16)
	for i := range clients {
		clients[i] = history.Claimant{Process: "c1", Client: fmt.Sprintf("c1/%d", i), Lock: "l1"}
	}
	for i := range all {
		at := int64(i) * 1000
		all[i] = history.Acquisition{
			Claimant:        &clients[i%16],
			Trouble:         &history.Trouble{Lost: history.None, Died: history.None},
			N:               int64(i),
			Token:           int64(i + 1),
			Outcome:         history.OK,
			Invoked:         at - 15000,
			Returned:        at,
			ReleaseInvoked:  at + 900,
			ReleaseReturned: at + 1100,
			ReleaseOutcome:  history.OK,
			Queued:          history.None,
		}
	}
	return all
}

// BenchmarkOverlaps looks for overlaps alone, over 1 M acquisitions.
func BenchmarkOverlaps(b *testing.B) {
	all := million()
	holds := make([]effect.Hold, len(all))
	for i := range all {
		holds[i] = effect.Hold{From: all[i].Returned, Until: all[i].BelievedUntil(1 << 60), By: &all[i]}
	}
	for b.Loop() {
		effect.EachOverlap(holds, func(*effect.Hold, *effect.Hold) { b.Fatal("an overlap") })
	}
}

// BenchmarkExcess does the same for a semaphore with eight permits, all of them taken.
func BenchmarkExcess(b *testing.B) {
	all := million()
	holds := make([]effect.Hold, len(all))
	for i := range all {
		all[i].Mode, all[i].Permits = history.ModePermit, 1
		holds[i] = effect.Hold{From: all[i].Returned, Until: all[i].Returned + 7900, By: &all[i]}
	}
	eight := func(int64, int64) int64 { return 8 }
	for b.Loop() {
		eachExcess(holds, eight, nil, func(*effect.Hold, *effect.Hold, int64, int64, int64,
			int64) {
			b.Fatal("an excess")
		})
	}
}

// BenchmarkReaders does the same for readers, 16 of which overlap at a time.
func BenchmarkReaders(b *testing.B) {
	all := million()
	holds := make([]effect.Hold, len(all))
	for i := range all {
		all[i].Mode = history.ModeRead
		holds[i] = effect.Hold{From: all[i].Returned, Until: all[i].Returned + 15900, By: &all[i]}
	}
	for b.Loop() {
		effect.EachOverlap(holds, func(*effect.Hold, *effect.Hold) { b.Fatal("an overlap") })
	}
}

// BenchmarkRun runs every check over the events of 1 M acquisitions.
func BenchmarkRun(b *testing.B) {
	var events []history.Event
	add := func(e history.Event) { events = append(events, e) }
	add(history.Event{Op: history.OpPhase, Detail: string(history.PhaseMeasure)})
	for i, a := range million() {
		at := int64(i)*1000 + 100_000
		e := history.Event{
			At:      at,
			Process: a.Process,
			Client:  a.Client,
			Lock:    a.Lock,
			Acq:     a.N + 1,
			Token:   a.Token,
			Op:      history.OpAcquire,
			Kind:    history.Invoke,
		}
		add(e)
		e.At, e.Kind = at+100, history.OK
		add(e)
		e.At, e.Op, e.Kind = at+800, history.OpRelease, history.Invoke
		add(e)
		e.At, e.Kind = at+900, history.OK
		add(e)
	}
	end := events[len(events)-1].At
	add(history.Event{At: end, Op: history.OpPhase, Detail: string(history.PhaseDrain)})
	add(history.Event{At: end, Op: history.OpPhase, Detail: string(history.PhaseCollect)})
	add(history.Event{At: end, Op: history.OpEnd, Detail: string(history.EndComplete)})
	facts := recipes["queue"]
	facts.SessionTimeout, facts.Tick = 6*time.Second, time.Second
	for b.Loop() {
		if r := Run(history.NewLog(events), facts); r.Verdict != evidence.Pass {
			b.Fatal(describeReport(&r))
		}
	}
}

// BenchmarkServers runs every check over 100 k grants and the servers' transactions of them, with 64 in the queue.
func BenchmarkServers(b *testing.B) {
	const grants, clients = 100_000, 64
	var events []history.Event
	var txns []*txnlog.Txn
	created := make([]*txnlog.Txn, grants)
	const every = 2 * ms // a grant
	for n := range grants {
		at, session := int64(n+clients)*every, int64(n%clients+1)
		path := fmt.Sprintf("l1/_c_%032d-lock-%010d", n, n)
		created[n] = &txnlog.Txn{
			Session: session,
			Cxid:    1,
			Time:    at - (clients-1)*every,
			Type:    txnlog.Create2,
			Ops:     []txnlog.Op{{Type: txnlog.Create2, Path: path, Ephemeral: true}},
		}
		txns = append(
			txns,
			created[n],
			&txnlog.Txn{
				Session: session,
				Cxid:    2,
				Time:    at + ms + ms/2,
				Type:    txnlog.Delete,
				Ops:     []txnlog.Op{{Type: txnlog.Delete, Path: path}},
			},
		)
	}
	number(txns)
	events = append(events, history.Event{Op: history.OpClock},
		history.Event{Op: history.OpPhase, Detail: string(history.PhaseMeasure)})
	for n := range grants {
		at := int64(n+clients) * every
		e := history.Event{
			Process: "c1",
			Client:  fmt.Sprintf("c1/%d", n%clients),
			Session: history.SessionID(n%clients + 1),
			Lock:    "l1",
			Acq:     int64(n + 1),
			Op:      history.OpAcquire,
		}
		step := func(at int64, kind history.Kind) {
			e.At, e.Kind = at, kind
			events = append(events, e)
		}
		step(at-(clients-1)*every-1, history.Invoke)
		e.Token = created[n].Zxid
		step(at, history.OK)
		e.Op = history.OpRelease
		step(at+ms, history.Invoke)
		step(at+ms+ms/2+1, history.OK)
	}
	slices.SortStableFunc(events, byTime)
	end := events[len(events)-1].At
	for _, phase := range [...]history.Phase{history.PhaseDrain, history.PhaseCollect} {
		events = append(events, history.PhaseBegins(end, phase))
	}
	events = append(events, history.Event{At: end, Op: history.OpEnd, Detail: string(history.EndComplete)})
	facts := recipes["queue"]
	facts.SessionTimeout, facts.Tick = 6*time.Second, time.Second
	for b.Loop() {
		if r := judgeLog(events, facts, txns); r.Check(evidence.ServiceExclusion).Result != evidence.Pass ||
			r.Verdict != evidence.Pass {
			b.Fatal(describeReport(&r), r.Check(evidence.ServiceExclusion).Summary)
		}
	}
}
