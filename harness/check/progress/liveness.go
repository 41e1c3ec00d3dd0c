package progress

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"locklab/harness/check/evidence"
	"locklab/harness/check/spans"
	"locklab/harness/history"
)

var LivenessCheck = evidence.Check{
	Name: evidence.Liveness,
	Asks: "did the lock move on, in calm and after every heal, was it handed on in time and never refused " +
		"or failed while it was free, did nobody in a queue have to wait for those who came later, was no hold lost " +
		"without a cause, did every client get the lock once all faults were healed, and did no client leave znodes " +
		"behind?",
	Subject: "progress",
	Judge:   judgeLiveness,
}

// impatient is how long an attempt must last to prove anything. A shorter one may have given up before the service
// could answer, even on a free lock.
const impatient = int64(250 * time.Millisecond)

// judgeLiveness asks whether a lock that is free and wanted is granted in time. Free means that no client believes that
// it has the lock, or has yet to give it back. [LivenessJudge.serverFindings] says what the servers' transactions add.
//
// A stall is a time of more than the session timeout + 2 ticks + 1 s in which a client waited, no client held the lock,
// and neither a fault nor a standstill can have kept it from being granted ([LivenessJudge.blocks]). Within the timeout
// and 1.5 ticks the service forgets any dead holder, and the rest is for the hand-off. A client that told that it had
// no connection does not count as waiting meanwhile, since it could not hear of a grant; without a fault that explains
// it, that makes the stall a doubt. Faults are in force until their heal was confirmed, so a lock that does not recover
// from a fault is a stall too. A stall does not end when a waiter gives up and comes back, but attempts that give up
// within a quarter of a second, or within 50 ms of having a place in the queue, are too impatient to prove anything.
// Many of them in vain are a doubt, see [LivenessJudge.refusals], which judges refused attempts as well.
//
// Hand-offs after a clean release are judged more strictly, by what the run itself shows to be plausible: see
// [LivenessJudge.handOffs].
//
// A lock that is held may still have to be granted: to a reader beside readers, or a permit while others are left. That
// needs the queue's order and the recipe's rules to judge, so without the servers' logs ([LivenessJudge.besideLeases])
// a stall is only a doubt there, and the check is unknown: if readers waited beside readers with no writer in sight, or
// if permits were wanted while as many were free as any client that waited for so long asked for. And a lock that is
// free need not be available: others may wait behind a client that asks for more permits than there are, and one that
// wants several locks at once may have one long before acquire returns, or may not have asked for it yet. The waits of
// such clients are not stalls, and no lock is free while one waits for it, unless nobody else has or wants any of what
// it waits for. If it would be a stall otherwise, perhaps a deadlock, that is a doubt as well.
//
// A lock that fails every attempt for as long as a stall takes is not live either, see [LivenessJudge.failing], and
// neither is one whose release takes so long, see [LivenessJudge.unreturned]. A run in which no client ever got a lock
// proves nothing, see [LivenessJudge.neverGranted].
//
// A queue must pass nobody over, see [LivenessJudge.passedOver], and each loss of a hold has a cause, see
// [LivenessJudge.lostWithoutCause]. Where every client asks again and again, each must get a lock once more after the
// last heal, see [LivenessJudge.progress].
//
// It is unknown whether a lock recovers if the last heal was not confirmed, or if no client got a wanted lock after it
// and the time was too short to tell. So it is whether faults left anything behind, see [LivenessJudge.recoveryDoubts].
func judgeLiveness(d *evidence.Digest, _ *evidence.Safety) evidence.Verdict {
	if d.LongestTimeout() == 0 {
		return evidence.Verdict{Result: evidence.Unknown, Summary: "the session timeout is not known"}
	}
	if len(d.Acquisitions) == 0 {
		return evidence.Verdict{Result: evidence.Unknown, Summary: "no client asked for a lock"}
	}
	l := newJudge(d)
	heal, doubts := l.lastHeal()
	l.several = d.TakenTogether()
	byLock := history.ByLock(d.Acquisitions, nil)
	v := evidence.Verdict{}
	var censored int64
	var ordinary, besideErrors, ordinaryBesideWeak []handedOver
	var refused, failing, passed, lost, unreturned []evidence.Finding
	for _, lock := range evidence.SortedKeys(byLock) {
		seeming := l.Stalls(lock, byLock[lock])
		stalls := l.withoutStandstills(lock, byLock[lock], seeming)
		if len(seeming) == 0 {
			stalls = l.besideLeases(lock, byLock[lock])
		}
		if d.Whole { // else a holder may only be missing from the record
			unclean, beside := l.uncleanBeside(byLock[lock])
			ordinary = l.ordinary(ordinary, byLock[lock], l.GrantsOf(lock), unclean)
			if !slices.Equal(unclean, beside) {
				besideErrors = l.ordinary(besideErrors, byLock[lock], l.GrantsOf(lock), beside)
			}
			unseen := len(l.unseen)
			of := l.ofLock(lock, byLock[lock], len(stalls) > 0)
			refused, passed = append(refused, of.refused...), append(passed, of.passed...)
			lost, failing = append(lost, of.lost...), append(failing, of.failing...)
			unreturned = append(unreturned, of.unreturned...)
			doubts = append(doubts, of.doubts...)
			if len(l.Faults)+len(l.Hiccups) > 0 { // else there is nothing that a strict look leaves out
				strict := l.strictly(byLock[lock])
				ordinaryBesideWeak = strict.ordinary(ordinaryBesideWeak, byLock[lock], l.GrantsOf(lock),
					strict.uncleanEnds(byLock[lock]))
				if of.nothing() && len(stalls) == 0 && len(l.unseen) == unseen {
					doubts = append(doubts, strict.ofLock(lock, byLock[lock], false).besideWeak()...)
				}
			}
		}
		if len(stalls) > 0 && stalls[0].Cause == evidence.CauseServer {
			doubts = append(doubts, stalls[0].Text)
		} else {
			v.Count += int64(len(stalls))
		}
		v.Findings = append(v.Findings, stalls[:min(len(stalls), evidence.MaxFindings)]...)
		if len(seeming) == 0 {
			doubts = append(doubts, l.stallDoubts(lock, byLock[lock])...)
		}
		if heal != history.None && len(stalls) == 0 {
			doubts = append(doubts, l.afterHeal(lock, byLock[lock], heal)...)
		}
		for _, a := range byLock[lock] {
			if a.Returned == history.None && a.Died == history.None {
				censored++
			}
		}
	}
	stalled := v.Count
	slow, said, unsureOf := l.handOffs(ordinary)
	doubts = append(doubts, unsureOf...)
	if len(slow)+len(doubts)+len(l.unseen) == 0 {
		perhaps, _, _ := l.handOffs(ordinaryBesideWeak)
		doubts = append(doubts, lockFindings{refused: perhaps}.besideWeak()...)
		if perhaps, _, _ = l.handOffs(besideErrors); len(perhaps) > 0 {
			doubts = append(doubts, perhaps[0].Text+", beside errors or releases of unknown outcome of the lock itself")
		}
	}
	var first string // finding of the servers' logs
	var excused int64
	for _, f := range l.serverFindings(byLock) {
		if f.Cause == evidence.CauseServer {
			excused++
		} else {
			first = cmp.Or(first, f.Text)
			v.Count++
		}
		if len(v.Findings) < evidence.MaxFindings {
			v.Findings = append(v.Findings, f)
		}
	}
	doubts = append(doubts, append(l.unsure, l.recoveryDoubts(heal)...)...)
	stuck, unsure := l.progress(heal)
	share, little := l.judged(byLock)
	doubts = slices.Concat(doubts, unsure, l.neverGranted(), little, l.unseenDoubts())
	switch {
	case v.Count > stalled && stalled == 0:
		v.Setf(evidence.Fail, "%s in the servers' logs: %s",
			evidence.Count(v.Count, "orphan or unnoticed grant", "orphans and unnoticed grants"), first)
	case v.Count > stalled:
		v.Setf(evidence.Fail, "%s of a free lock that clients waited for, the first: %s; and in the servers' logs: %s",
			evidence.Count(stalled, "stall", "stalls"), v.Findings[0].Text, first)
	case v.Count > 0 && v.Findings[0].Kind == evidence.KindDeadlock:
		v.Setf(evidence.Fail, "%s, the first: %s", evidence.Count(stalled, "deadlock", "deadlocks and stalls"),
			v.Findings[0].Text)
	case v.Count > 0:
		v.Setf(evidence.Fail, "%s of a free lock that clients waited for, the first: %s",
			evidence.Count(v.Count, "stall", "stalls"), v.Findings[0].Text)
	}
	for _, other := range []struct {
		found []evidence.Finding
		says  string
	}{
		{failing, "a free lock only failed, " + counted(failing, "time", "times")},
		{slices.Concat(refused, slow), lateWords(len(refused), len(slow))},
		{passed, counted(passed, "wait was", "waits were") + " passed over in the queue"},
		{lost, counted(lost, "hold was lost", "holds were lost") + " without a cause"},
		{unreturned, counted(unreturned, "release", "releases") + " did not return"},
		{stuck, counted(stuck, "client", "clients") + " without progress after the last heal"},
	} {
		if n := len(other.found); n > 0 && v.Count == 0 {
			v.Count, v.Findings = int64(n), append(other.found[:min(n, evidence.MaxFindings)], v.Findings...)
			v.Setf(evidence.Fail, "%s, the first: %s", other.says, other.found[0].Text)
		}
	}
	switch {
	case v.Count > 0:
	case len(doubts) > 0:
		v.Result, v.Summary = evidence.Unknown, strings.Join(doubts, "; ")
	case !d.Whole:
		v.Setf(evidence.Unknown, "no stall as far as the history goes, which is not complete")
	default:
		v.Setf(evidence.Pass, "no client waited for a free lock for longer than %s", evidence.Length(l.Bound))
	}
	if excused > 0 {
		v.Summary += fmt.Sprintf("; a server is to blame for %s", evidence.Count(excused, "finding", "findings"))
	}
	if v.Count == 0 {
		v.Summary += said
	}
	if v.Result != evidence.Fail {
		v.Summary += share
	}
	if heal != history.None {
		v.Summary += l.gotAfter(heal)
	}
	if censored > 0 {
		v.Summary += "; " + evidence.Count(censored, "acquire was", "acquires were") + " still waiting at the end"
	}
	return v
}

// counted says how many findings there are.
func counted(all []evidence.Finding, one, several string) string {
	return evidence.Count(int64(len(all)), one, several)
}

// lateWords says how many refusals and slow hand-offs there were.
func lateWords(refused, slow int) string {
	refusals := evidence.Count(int64(refused), "refusal of a free lock", "refusals of a free lock")
	switch {
	case slow == 0:
		return refusals
	case refused == 0:
		return evidence.Count(int64(slow), "slow hand-off", "slow hand-offs")
	}
	return fmt.Sprintf("%s and %d slow hand-offs", refusals, slow)
}

// A LivenessJudge looks for stalls of longer than bound until stop.
type LivenessJudge struct {
	*evidence.Digest
	// Faults and Hiccups are the digest's, or those that a strict look lets count; see [LivenessJudge.strictly].
	Faults  []*evidence.Fault
	Hiccups map[string][]*history.Event
	strict  bool

	Bound, Stop int64
	several     map[*history.Acquisition]bool // those that take several locks at once
	aftermath   []spans.Span                  // see [LivenessJudge.aftermaths]

	unsure   []string           // doubts from the servers' logs
	unseen   []evidence.Finding // that a standstill of a driver that declares no pings explains
	disturbs []spans.Span       // see disturbances
}

// newJudge returns a judge of all faults and standstills.
func newJudge(d *evidence.Digest) *LivenessJudge {
	l := &LivenessJudge{Digest: d, Faults: d.Faults, Hiccups: d.Hiccups, Stop: d.End,
		Bound: int64(evidence.StallBound(time.Duration(d.LongestTimeout()), d.Facts.Tick)) + d.Slack()}
	if d.Collect != history.None {
		l.Stop = d.Collect
	}
	l.aftermath = l.aftermaths()
	return l
}

// unseenDoubts says what a standstill of a driver that declares no pings explains, by the first finding.
func (l *LivenessJudge) unseenDoubts() []string {
	switch len(l.unseen) {
	case 0:
		return nil
	case 1:
		return []string{l.unseen[0].Text + evidence.UnlessStood}
	}
	return []string{fmt.Sprintf("%s%s; and %d more", l.unseen[0].Text, evidence.UnlessStood, len(l.unseen)-1)}
}

// InForce is when f can have kept a lock from being granted. A client that is killed for good keeps others from it only
// until its session expires, which the bound allows for; what the loss of a server does to the rest is not known here.
//
// A fault that never happened is over as soon as that is known. An injection that failed may have taken effect all the
// same; the final heal ends what it left.
func (l *LivenessJudge) InForce(f *evidence.Fault) (from, until int64) {
	from = f.Began()
	known := f.NeverHappened()
	switch {
	case f.HealVerified != history.None:
		until = max(f.Healed, f.HealVerified)
	case known != history.None && (f.Missed || f.Unsupported || l.Final == nil):
		until = known
	case known != history.None && l.Final.Kind == history.OK:
		until = max(known, l.Final.At)
	case f.Permanent && f.Injected != history.None && l.OnlyClients(f):
		until = f.Injected
	default:
		until = l.Stop
	}
	return from, until
}

// Waited is the interval for which a waited, as far as it counts.
func (l *LivenessJudge) Waited(a *history.Acquisition) (from, until int64) {
	until = history.Earliest(l.Stop, a.Returned, a.Died)
	if h, ok := l.Horizon[a.Process]; ok {
		until = min(until, h)
	}
	patience := min(impatient, int64(l.Facts.Tick))
	if a.Queued != history.None {
		patience = a.Queued - a.Invoked + patience/5 // it is known how long the service took to give it its place
	}
	if a.Reason == history.FailBusy || !a.Granted() && until-a.Invoked < patience {
		until = a.Invoked // it did not wait
	}
	return a.Invoked, until
}
