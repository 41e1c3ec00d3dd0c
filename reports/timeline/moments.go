package timeline

import (
	"cmp"
	"slices"
	"strings"

	"locklab/harness/history"
	"locklab/reports/result"
)

// moments names the turning points of a scene: which client stopped, whose session ended, which client got the lock,
// and which one woke up and wrote.
func moments(in result.Input, t *Timeline) []moment {
	var all []moment
	add := func(at int64, bad bool, text string) {
		if at >= t.From && at < t.To {
			all = append(all, moment{at, text, bad})
		}
	}
	hosts := map[string]bool{}
	for _, c := range t.Clients {
		host, _, _ := strings.Cut(c, "/")
		hosts[host] = true
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
