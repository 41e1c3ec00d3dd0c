package check

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"locklab/harness/check/evidence"
	"locklab/harness/check/progress"
	"locklab/harness/history"
)

var assumptionsCheck = evidence.Check{
	Name:    evidence.Assumptions,
	Asks:    "did the run reach what it set out to test?",
	Subject: "the conditions of the run",
	OfRun:   true,
	Judge:   judgeAssumptions,
}

// judgeAssumptions asks whether the run reached what it set out to test. It never fails: a run that did not is
// unknown, and the verdict gives every reason. The functions below say what each of them looks for.
func judgeAssumptions(d *evidence.Digest, _ *evidence.Safety) evidence.Verdict {
	var reasons []string
	for _, part := range [...]func(*evidence.Digest) []string{incomplete, idle, idleFaults,
		strayExits, neverWorked, contradictions, unplaced, (*evidence.Digest).OneClock} {
		reasons = append(reasons, part(d)...)
	}
	v := evidence.Verdict{Result: evidence.Pass, Summary: "the run reached what it set out to test",
		Count: int64(len(reasons))}
	if len(reasons) > 0 {
		v.Result, v.Summary = evidence.Unknown, strings.Join(reasons, "; ")
	} else {
		v.Summary += d.Agreement()
	}
	return v
}

// contradictions says how the record contradicts itself.
func contradictions(d *evidence.Digest) []string { return d.Contradictions }

// incomplete says whether the history ends early, or parts of it are missing.
func incomplete(d *evidence.Digest) []string {
	var reasons []string
	for _, why := range d.Facts.Incomplete {
		reasons = append(reasons, "the record is incomplete: "+why)
	}
	reasons = append(reasons, d.Facts.Unmet...)
	switch {
	case d.Facts.Partial:
		reasons = append(reasons, "the run is partial")
	case !d.Whole && len(d.Facts.Incomplete) == 0:
		reasons = append(reasons, "the history has no end")
	}
	return reasons
}

// idle says whether there was no measured window, or too little happened in it.
func idle(d *evidence.Digest) []string {
	if d.Measure == history.None {
		return []string{"nothing was measured"}
	}
	until := d.End
	switch {
	case d.Closed != history.None:
		until = d.Closed
	case d.Drain != history.None:
		until = d.Drain
	}
	n := 0
	for _, l := range d.Locks {
		for _, a := range l.Grants {
			if a.Returned >= d.Measure && a.Returned <= until {
				n++
			}
		}
	}
	if n < d.Facts.MinAcquired {
		return []string{fmt.Sprintf("%s in the measured window, but the scenario needs at least %d "+
			"(a longer duration gives more)", evidence.Count(int64(n), "grant", "grants"), d.Facts.MinAcquired)}
	}
	return nil
}

// idleFaults says which faults did not happen, were not seen to happen or to end, or were meant for a client that
// holds or waits for a lock and struck when there was none. Of random faults it only says if none happened.
func idleFaults(d *evidence.Digest) []string {
	var reasons []string
	idle := 0
	for _, f := range d.Faults {
		say := func(what string) {
			s := f.String() + " " + what
			if f.Detail != "" {
				s += ": " + f.Detail
			}
			reasons = append(reasons, s)
		}
		switch {
		case f.Unsupported && f.Drawn:
			idle++
			continue // the schedule would have drawn another one, had this been known
		case f.Unsupported:
			say("is not supported on this machine (locklab doctor says why)")
			continue
		case f.Missed && f.Drawn:
			idle++
			continue // a random fault is meant for no client in particular
		case f.Missed:
			say("found nothing to strike")
			continue
		case f.Injected == history.None:
			say("was not injected")
			continue
		case f.Verified == history.None:
			say("was not verified")
		}
		switch {
		case f.Permanent:
		case f.Healed == history.None:
			say("was not healed")
		case f.HealVerified == history.None:
			say("was healed, but nothing confirmed it")
		}
		if (f.HitsHolder || f.Trigger != nil) && !struckHolder(d, f) {
			say("struck while its target held no lock")
		}
		switch {
		case f.Drawn || !f.HitsWaiter:
		case !struckWaiter(d, f, false):
			say("struck while its target was not waiting for a lock")
		case f.HitsHead && !struckWaiter(d, f, true):
			say("struck while its target was not the next in the queue")
		}
	}
	if idle > 0 && idle == len(d.Faults) {
		reasons = append(reasons,
			fmt.Sprintf("not one of %s happened", evidence.Count(int64(idle), "random fault", "random faults")))
	}
	return reasons
}

// struckHolder reports whether a client of f's targets certainly believed that it held a lock when f was injected. If
// an acquisition triggered f, it must be that one, and the client itself has recorded that it held the lock. A kill is
// stamped when it is done, so a belief that the kill ended was over before that.
func struckHolder(d *evidence.Digest, f *evidence.Fault) bool {
	off := d.Slack()
	if f.Trigger != nil {
		off = -off
	}
	for _, l := range d.Locks {
		for _, a := range l.Grants {
			if a.Returned > evidence.Later(f.Injected, -off) {
				break // the rest returned later still
			}
			if t := f.Trigger; t != nil &&
				(a.Client != t.Client || t.Acq != 0 && a.N != t.Acq || t.Lock != "" && a.Lock != t.Lock) {
				continue
			}
			if f.Trigger == nil && !f.Hits(a.Process) {
				continue
			}
			until := d.BelievedUntil(a)
			if until > f.Injected+off || until == a.Died && until >= f.Began()-d.Slack() {
				return true
			}
		}
	}
	return false
}

// struckWaiter reports whether a client of f's targets waited for a lock when f was injected. With first, that client
// must also have been the next to get the lock: no other client that waited then was granted the lock before it, by
// token or else by time.
func struckWaiter(d *evidence.Digest, f *evidence.Fault, first bool) bool {
	var waiting []*history.Acquisition
	for i := range d.Acquisitions {
		a := &d.Acquisitions[i]
		over := int64(math.MaxInt64)
		if a.Returned != history.None {
			over = a.Returned
		}
		if a.Died != history.None {
			over = min(over, max(a.Died, f.Injected+d.Slack()+1)) // a kill is stamped when it is done
		}
		if off := d.Slack(); a.Invoked <= f.Injected-off && over > f.Injected+off {
			waiting = append(waiting, a)
		}
	}
	return slices.ContainsFunc(waiting, func(a *history.Acquisition) bool {
		ahead := func(b *history.Acquisition) bool { return b != a && b.Lock == a.Lock && before(b, a) }
		return f.Hits(a.Process) && (!first || !slices.ContainsFunc(waiting, ahead))
	})
}

// before reports whether b was ahead of a in the queue, as far as grants tell. A client that was not granted the lock
// only tells when it came.
func before(b, a *history.Acquisition) bool {
	if a.Token != 0 && b.Token != 0 {
		return b.Token < a.Token
	}
	return b.Invoked < a.Invoked
}

// strayExits says which processes ended before the run was done with them though no fault killed them.
func strayExits(d *evidence.Digest) []string {
	var reasons []string
	done := map[string]bool{}
	for _, e := range d.Events.Of(history.OpDone, history.OpProcess) {
		switch {
		case d.Collect != history.None && e.At+d.Slack() >= d.Collect:
			return reasons
		case e.Op == history.OpDone:
			done[e.Process] = true
		case e.ProcessIs(history.ProcessStarted):
			done[e.Process] = false
		case e.ProcessIs(history.ProcessExited) && !done[e.Process] && !d.Killed(&e):
			s := fmt.Sprintf("%s exited at %s, and no fault had struck it", e.Process, evidence.Seconds(e.At))
			if how := e.ProcessChange().Detail; how != "" {
				s += ": " + how
			}
			reasons = append(reasons, s)
		}
	}
	return reasons
}

// neverWorked says which operations were tried and never succeeded, so that whatever depends on them was not tested.
func neverWorked(d *evidence.Digest) []string {
	ops := [...]history.Op{
		history.OpAcquire,
		history.OpEnter,
		history.OpRead,
		history.OpWrite,
		history.OpExit,
		history.OpRelease,
	}
	var reasons []string
	for _, op := range ops {
		if d.Events.Count(op, history.Invoke) > 0 && !succeeded(d, op) {
			reasons = append(reasons, fmt.Sprintf("no %s ever succeeded%s", op, firstReason(d, op)))
		}
	}
	if d.Events.Count(history.OpAcquire, history.Invoke) == 0 {
		reasons = append(reasons, "no client ever asked for a lock")
	}
	return reasons
}

// succeeded reports whether a client learned that one of its calls of op succeeded.
func succeeded(d *evidence.Digest, op history.Op) bool {
	for _, e := range d.Events.Of(op) {
		if e.Kind == history.OK && e.Process == history.HostOf(e.Client) {
			return true
		}
	}
	return false
}

// firstReason says with which text the first of the calls of op failed.
func firstReason(d *evidence.Digest, op history.Op) string {
	for _, e := range d.Events.Of(op) {
		if e.Kind != history.Invoke && e.Kind != history.OK && e.Detail != "" {
			return fmt.Sprintf(" (the first failed with %q)", progress.Brief(e.Detail))
		}
	}
	return ""
}

// unplaced says which hosts' clocks leave too much open.
func unplaced(d *evidence.Digest) []string {
	reasons := d.Events.Clocks().Broken()
	for _, u := range d.Events.Clocks().Uncertain() {
		if u.Err > evidence.Stepped {
			reasons = append(reasons, fmt.Sprintf("the clock of %s is placed only within %s, and nothing is proved by more "+
				"than %s", strings.Join(u.Hosts, ", "), evidence.Millis(u.Err), evidence.Millis(evidence.Stepped)))
		}
	}
	return reasons
}
