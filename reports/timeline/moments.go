package timeline

import (
	"cmp"
	"slices"

	"locklab/harness/check/spans"
	"locklab/harness/history"
	"locklab/reports/measure"
	"locklab/reports/result"
)

// moments names the turning points of a scene: which client stopped, whose session ended, which client got the lock,
// and which one woke up and wrote.
func moments(in result.Input, t *Timeline) []moment {
	var all []moment
	add := func(at int64, bad bool, text string) {
		if at >= t.From && at < t.Until {
			all = append(all, moment{at, text, bad})
		}
	}
	hosts := map[string]bool{}
	for _, c := range t.Clients {
		hosts[history.HostOf(c)] = true
	}
	if t.Fault != nil {
		for _, h := range t.Fault.Targets {
			hosts[h] = true
		}
	}
	for _, e := range in.Events.Of(history.OpProcess) {
		if !hosts[e.Process] {
			continue
		}
		switch e.ProcessChange().State {
		case history.ProcessStopped:
			add(e.At, false, e.Process+" is stopped")
		case history.ProcessContinued:
			add(e.At, false, e.Process+" goes on")
		case history.ProcessExited:
			add(e.At, false, e.Process+" dies")
		case history.ProcessStarted:
			add(e.At, false, e.Process+" is started")
		}
	}
	if f := t.Overlap; f != nil {
		what := "the lock"
		older, last := holdOf(in.Acquisitions, *f, 0), holdOf(in.Acquisitions, *f, 1)
		by := f.Clients[1]
		if older != nil && last != nil && older.Returned > last.Returned {
			last, by = older, f.Clients[0] // a writer that became a reader was there before
		}
		if older != nil {
			if older.Mode == history.ModePermit {
				what = "its permit"
			}
			at, ok := servedUntil(in.Report, older)
			if !ok && in.Report.ServerHolds == nil {
				at, ok = vanished(in.Events, older)
			}
			if ok {
				add(at, false, older.Client+"’s session has ended at the servers")
			}
			if older.Lost != history.None {
				add(older.Lost, false, older.Client+" learns that it lost "+what)
			}
		}
		if last != nil && last.Mode != history.ModeExclusive {
			what = map[history.Mode]string{history.ModeRead: "the lock to read", history.ModeWrite: "the lock to write",
				history.ModePermit: "a permit"}[last.Mode]
		}
		add(f.At, true, by+" gets "+what)
	}
	for _, stale := range []bool{true, false} { // the first of each
		i := slices.IndexFunc(t.Accesses, func(a access) bool { return stale && a.Stale || !stale && a.Refused })
		if i < 0 {
			continue
		}
		a := t.Accesses[i]
		verb := map[history.Op]string{history.OpRead: " reads", history.OpWrite: " writes", history.OpEnter: " enters",
			history.OpExit: " leaves"}[a.Op]
		if stale {
			add(a.Called, true, a.Client+verb+": accepted, though outdated")
		} else {
			add(a.Called, false, a.Client+verb+": refused as outdated")
		}
	}
	slices.SortStableFunc(all, func(a, b moment) int { return cmp.Compare(a.At, b.At) })
	return all[:min(len(all), maxMoments)]
}

// maxMoments is the most instants that a timeline names.
const maxMoments = 8

// gaps returns the times without progress: no client got any lock, though one waited for one throughout. Only gaps of
// at least a hundredth of the run, and ten times as long as grants are apart on average, are returned.
func gaps(acq []history.Acquisition, run spans.Span) []spans.Span {
	grants := make([]int64, 0, len(acq)+1) // and the end of the run
	for i := range acq {
		if acq[i].Granted() {
			grants = append(grants, acq[i].Returned)
		}
	}
	slices.Sort(grants)
	if len(grants) < 2 {
		return nil
	}
	usual := (grants[len(grants)-1] - grants[0]) / int64(len(grants)-1)
	least := max(run.Lasts()/100, 10*usual, 1)
	var all []spans.Span
	last := grants[0]
	for _, at := range append(grants[1:], run.Until) {
		if at-last >= least {
			if from := waitedFrom(acq, last, at); from < at && at-from >= least {
				all = append(all, spans.Span{From: from, Until: at})
			}
		}
		last = at
	}
	return all
}

// waitedFrom is when the first client asked that then waited until the end of the gap; the gap's end if none did.
func waitedFrom(acq []history.Acquisition, from, to int64) int64 {
	first := to
	for i := range acq {
		a := &acq[i]
		if a.Invoked < first && (a.Returned == history.None || a.Returned >= to) {
			first = max(a.Invoked, from)
		}
	}
	return first
}

// felt is the time in which a fault was felt: from its injection until it was healed, the clients made progress again,
// and nothing more was found that it explains.
func felt(f *measure.FaultSpan, gaps []spans.Span, found []spans.Span) spans.Span {
	s := f.Span
	for _, more := range [][]spans.Span{found, gaps} {
		for _, m := range slices.SortedFunc(slices.Values(more), func(a, b spans.Span) int {
			return cmp.Compare(a.From, b.From)
		}) {
			if m.From <= s.Until && m.Until >= s.From {
				s.Until = max(s.Until, m.Until)
			}
		}
	}
	return s
}
