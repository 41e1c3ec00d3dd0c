package progress

import (
	"cmp"
	"fmt"
	"slices"

	"locklab/harness/check/evidence"
	"locklab/harness/check/spans"
	"locklab/harness/history"
)

// fewFailures is how many failed attempts one after the other prove something. One or two may be an accident.
const fewFailures = 3

// A failingRun is attempts of one lock, one after the other, all of which the lock itself failed.
type failingRun struct {
	first, last *history.Acquisition
	n           int64
	unconnected bool  // a client told that it had no connection then
	stood       int64 // for so long the driver of an attempt may have stood still unseen
}

// failing finds where the lock itself failed every attempt for longer than a stall takes, though nobody held it: a lock
// that answers with an error is as little available as one that does not answer. It does not matter how long the
// attempts took, or how long the clients waited in between.
//
// No hold may touch that time, nor may a fault or a standstill, or what either may have left. A client that did not
// want to wait any longer proves nothing here, see [LivenessJudge.refusals], and neither does one that asks for more
// permits than there are. Where clients take several locks together, a hold of any lock counts, because an attempt may
// rightly fail for another lock than this one. If a client had no connection meanwhile, it is not known whether the
// lock is to blame, which is a doubt.
func (l *LivenessJudge) failing(lock string, all []*history.Acquisition) (found []evidence.Finding, doubts []string) {
	tries := slices.DeleteFunc(slices.Clone(all), func(a *history.Acquisition) bool { return !l.failedByLock(a) })
	if len(tries) < fewFailures {
		return nil, nil
	}
	slices.SortFunc(tries, func(a, b *history.Acquisition) int { return cmp.Compare(a.Returned, b.Returned) })
	several := slices.ContainsFunc(all, func(a *history.Acquisition) bool { return l.several[a] })
	var elsewhere []*history.Acquisition
	for _, of := range l.Locks {
		if of.Lock != lock && several {
			elsewhere = append(elsewhere, of.Grants...)
		}
	}
	busy := l.occupancyOf(all, elsewhere, func(a *history.Acquisition) int64 {
		if !evidence.EndedCleanly(a) {
			return evidence.Later(l.gone(a), l.Bound) // the servers may still have its znode
		}
		return l.gone(a)
	})
	disturbed := l.excusesErrors()
	var run failingRun
	over := func() {
		if run.n >= fewFailures && run.last.Returned-run.first.Invoked > l.Bound {
			switch f := l.failingFinding(lock, run); {
			case run.unconnected:
				doubts = append(doubts, f.Text+", and clients had no connection to the servers")
			case run.stood >= int64(evidence.Standstill(l.Facts.Tick)) && f.Until-f.At-run.stood <= 2*l.Bound:
				l.unseen = append(l.unseen, f) // it, and what it left, account for so much
			default:
				found = append(found, f)
			}
		}
		run = failingRun{}
	}
	for _, a := range tries {
		from := a.Invoked
		if run.n > 0 {
			from = min(from, run.last.Returned)
		}
		permits := l.FewestPermits(lock, from, a.Returned)
		if busy.keeps(a, permits, from, a.Returned) || disturbed.Touches(from, a.Returned) {
			over()
		}
		if busy.keeps(a, permits, a.Invoked, a.Returned) || disturbed.Touches(a.Invoked, a.Returned) {
			continue
		}
		if run.n == 0 {
			run.first = a
		}
		run.last, run.n = a, run.n+1
		run.stood = max(run.stood, l.PerhapsStood(a, a.Invoked, a.Returned).Lasts())
		run.unconnected = run.unconnected || spans.List(l.Unconnected[a.Client]).Touches(a.Invoked, a.Returned)
	}
	over()
	return found, doubts
}

// Failures says how many acquires the lock itself failed in calm, empty if there were fewer than [fewFailures]. A lock
// that is granted in between is live, but no reader of a pass expects such a lock.
func Failures(d *evidence.Digest) string {
	l := newJudge(d)
	disturbed := l.excusesErrors()
	var first *history.Acquisition
	failed := int64(0)
	for i := range l.Acquisitions {
		if a := &l.Acquisitions[i]; l.failedByLock(a) && !disturbed.Touches(a.Invoked, a.Returned) &&
			!spans.List(l.Unconnected[a.Client]).Touches(a.Invoked, a.Returned) {
			failed++
			first = cmp.Or(first, a)
		}
	}
	if failed < fewFailures {
		return ""
	}
	return fmt.Sprintf("the lock failed %d of %d acquires in calm for reasons of its own, the first, of %s, with %q",
		failed, len(l.Acquisitions), first.Client, Brief(first.Error))
}

// failedByLock reports whether the lock itself failed a, which asked for no more than there is.
func (l *LivenessJudge) failedByLock(a *history.Acquisition) bool {
	return a.Returned != history.None && a.Outcome == history.Fail && !a.Reason.ByWorkload() && a.Returned <= l.Stop &&
		a.Permits <= l.FewestPermits(a.Lock, a.Invoked, a.Returned)
}

// excusesErrors are the times in which something other than the lock may have made an attempt fail: a fault, a
// standstill, or what either left.
func (l *LivenessJudge) excusesErrors() spans.List {
	all := slices.Clone(l.aftermath)
	for _, t := range l.disturbances() {
		all = append(all, spans.Span{From: t.From, Until: evidence.Later(t.Until, l.Bound)})
	}
	return spans.Merged(all)
}

func (l *LivenessJudge) failingFinding(lock string, run failingRun) evidence.Finding {
	f := l.FindingOf(evidence.KindFailing, run.first, run.first.Invoked, run.last.Returned,
		"%s failed %s and granted none in the %s from %s, though %s; the first, of %s: %q",
		lock, evidence.Count(run.n, "attempt", "attempts"), evidence.Length(run.last.Returned-run.first.Invoked),
		evidence.Seconds(run.first.Invoked), freeWords(run.first), run.first.Client, Brief(run.first.Error))
	l.blameServer(&f)
	return f
}

// freeWords says in what sense a lock was free for a.
func freeWords(a *history.Acquisition) string {
	switch a.Mode {
	case history.ModeRead:
		return "no writer had or wanted it"
	case history.ModePermit:
		return "enough permits were free"
	}
	return "nobody held it"
}

// Brief is the beginning of a text that a lock's command chose.
func Brief(text string) string {
	const most = 200
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}

// neverGranted says why it is not known whether the lock moves on: no client ever got a lock, or a client got none in a
// mode, because the lock failed each of its attempts.
func (l *LivenessJudge) neverGranted() (doubts []string) {
	type way struct {
		client string
		mode   history.Mode
	}
	type tally struct {
		failed, others int64
		first          *history.Acquisition
	}
	disturbed := l.excusesErrors()
	ways := map[way]*tally{}
	granted := false
	for i := range l.Acquisitions {
		a := &l.Acquisitions[i]
		granted = granted || a.Granted()
		w := ways[way{a.Client, a.Mode}]
		if w == nil {
			w = &tally{}
			ways[way{a.Client, a.Mode}] = w
		}
		switch {
		case l.failedByLock(a) && !disturbed.Touches(a.Invoked, a.Returned):
			if w.failed++; w.first == nil {
				w.first = a
			}
		case a.Granted() || a.Returned != history.None && a.Reason.ByWorkload():
			w.others++
		}
	}
	if !granted {
		return []string{fmt.Sprintf("no client ever got a lock, in %s",
			evidence.Count(int64(len(l.Acquisitions)), "acquire", "acquires"))}
	}
	var never []*tally
	for _, w := range ways {
		if w.failed >= fewFailures && w.others == 0 {
			never = append(never, w)
		}
	}
	if len(never) == 0 {
		return nil
	}
	first := slices.MinFunc(never, func(a, b *tally) int {
		return cmp.Or(cmp.Compare(a.first.Invoked, b.first.Invoked), cmp.Compare(a.first.Client, b.first.Client))
	})
	said := fmt.Sprintf("the lock failed each of %s's %s", first.first.Client,
		evidence.Count(first.failed, "attempt", "attempts"))
	if first.first.Mode != "" {
		said += fmt.Sprintf(" in mode %s", first.first.Mode)
	}
	said += fmt.Sprintf(", the first with %q", Brief(first.first.Error))
	if n := int64(len(never) - 1); n > 0 {
		said += fmt.Sprintf(" (and those of %s)", evidence.Count(n, "other", "others"))
	}
	return []string{said}
}

// FailedByItself reports whether an acquire failed for another reason than that its client did not want to wait any
// longer.
func FailedByItself(a *history.Acquisition) bool {
	return a.Returned != history.None && a.Outcome == history.Fail && !a.Reason.ByWorkload()
}
