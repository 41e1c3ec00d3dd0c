package check

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"locklab/harness/history"
)

// assumptions asks whether the run reached what it set out to test. It never
// fails: a run that did not is unknown, with every reason there is. What it
// looks for is on the methods below.
func assumptions(d *digest, _ *Safety) Verdict {
	var reasons []string
	for _, part := range [...]func() []string{d.incomplete, d.idle, d.idleFaults, d.strayExits, d.neverWorked, d.garbled} {
		reasons = append(reasons, part()...)
	}
	v := Verdict{Result: Pass, Summary: "the run reached what it set out to test", Count: int64(len(reasons))}
	if len(reasons) > 0 {
		v.Result, v.Summary = Unknown, strings.Join(reasons, "; ")
	}
	return v
}

// incomplete: the history ends early, or parts of it are missing.
func (d *digest) incomplete() []string {
	reasons := append([]string(nil), d.facts.Incomplete...)
	switch {
	case d.facts.Partial:
		reasons = append(reasons, "the run is partial")
	case !d.whole && len(d.facts.Incomplete) == 0:
		reasons = append(reasons, "the history has no end")
	}
	return reasons
}

// idle: there was no measured window, or too little happened in it.
func (d *digest) idle() []string {
	if d.measure == history.None {
		return []string{"nothing was measured"}
	}
	until := d.end
	switch {
	case d.closed != history.None:
		until = d.closed
	case d.drain != history.None:
		until = d.drain
	}
	n := 0
	for _, l := range d.locks {
		for _, a := range l.grants {
			if a.Returned >= d.measure && a.Returned <= until {
				n++
			}
		}
	}
	if n < d.facts.MinAcquired {
		return []string{fmt.Sprintf("%s in the measured window, too few (%d)", count(int64(n), "grant", "grants"), d.facts.MinAcquired)}
	}
	return nil
}

// idleFaults: a fault did not happen, nobody saw it happen or end, or it was
// meant for a holder and struck when there was none; or of those that chance chose, none happened.
func (d *digest) idleFaults() []string {
	var reasons []string
	idle := 0
	for _, f := range d.faults {
		say := func(what string) {
			s := f.String() + " " + what
			if f.detail != "" {
				s += ": " + f.detail
			}
			reasons = append(reasons, s)
		}
		switch {
		case f.unsupported && f.Drawn:
			idle++
			continue // others were drawn in its place, had it been known
		case f.unsupported:
			say("cannot be done here")
			continue
		case f.missed && f.Drawn:
			idle++
			continue // nobody meant it for anybody
		case f.missed:
			say("found nobody to hit")
			continue
		case f.injected == history.None:
			say("was not injected")
			continue
		case f.verified == history.None:
			say("was not verified")
		}
		switch {
		case f.Permanent:
		case f.healed == history.None:
			say("was not healed")
		case f.healVerified == history.None:
			say("was not seen to be healed")
		}
		if (f.HitsHolder || f.trigger != nil) && !d.struckHolder(f) {
			say("struck while its target held nothing")
		}
		switch {
		case f.Drawn || !f.HitsWaiter:
		case !d.struckWaiter(f, false):
			say("struck while its target waited for nothing")
		case f.HitsHead && !d.struckWaiter(f, true):
			say("struck while its target was not the next in the queue")
		}
	}
	if idle > 0 && idle == len(d.faults) {
		reasons = append(reasons, fmt.Sprintf("of %s not one happened", count(int64(idle), "drawn fault", "drawn faults")))
	}
	return reasons
}

// struckHolder reports whether a client of f's targets believed that it held a
// lock when f was injected: the acquisition that fired it, if one did. A kill is
// stamped when it is done, and the belief that it ended then ended before that.
func (d *digest) struckHolder(f *fault) bool {
	for _, l := range d.locks {
		for _, a := range l.grants {
			if a.Returned > f.injected {
				break // the rest returned later still
			}
			if t := f.trigger; t != nil && (a.Client != t.Client || t.Acq != 0 && a.N != t.Acq || t.Lock != "" && a.Lock != t.Lock) {
				continue
			}
			if f.trigger == nil && !f.hits(a.Process) {
				continue
			}
			until := d.believedUntil(a)
			if until > f.injected || until == a.Died && until >= f.began() {
				return true
			}
		}
	}
	return false
}

// struckWaiter reports whether a client of f's targets waited for a lock when f was injected; with first, one
// that nobody who waited then was granted the lock before, by token or else by time.
func (d *digest) struckWaiter(f *fault, first bool) bool {
	var waiting []*history.Acquisition
	for i := range d.acquisitions {
		a := &d.acquisitions[i]
		over := int64(math.MaxInt64)
		if a.Returned != history.None {
			over = a.Returned
		}
		if a.Died != history.None {
			over = min(over, max(a.Died, f.injected+1)) // a kill is stamped when it is done
		}
		if a.Invoked <= f.injected && over > f.injected {
			waiting = append(waiting, a)
		}
	}
	return slices.ContainsFunc(waiting, func(a *history.Acquisition) bool {
		return f.hits(a.Process) && (!first || !slices.ContainsFunc(waiting, func(b *history.Acquisition) bool { return b != a && b.Lock == a.Lock && before(b, a) }))
	})
}

// before reports whether b was in the queue before a, as far as grants tell: who was not granted the lock
// tells nothing but when it came.
func before(b, a *history.Acquisition) bool {
	if a.Token != 0 && b.Token != 0 {
		return b.Token < a.Token
	}
	return b.Invoked < a.Invoked
}

// strayExits: a process ended that nobody had killed, before the run was done
// with it.
func (d *digest) strayExits() []string {
	var reasons []string
	done := map[string]bool{}
	for i := range d.events {
		e := &d.events[i]
		switch {
		case d.collect != history.None && e.At >= d.collect:
			return reasons
		case e.Op == history.OpDone:
			done[e.Process] = true
		case e.Op == history.OpProcess && e.Mode == history.ProcessStarted:
			done[e.Process] = false
		case e.Op == history.OpProcess && e.Mode == history.ProcessExited && !done[e.Process] && !d.killed(e):
			s := fmt.Sprintf("%s exited at %s and no fault had struck it", e.Process, seconds(e.At))
			if e.Detail != "" {
				s += ": " + e.Detail
			}
			reasons = append(reasons, s)
		}
	}
	return reasons
}

func (d *digest) killed(exit *history.Event) bool {
	for _, f := range d.faults {
		if f.hits(exit.Process) && f.began() <= exit.At && exit.At <= f.until() {
			return true
		}
	}
	return false
}

// neverWorked: an operation was tried and not once succeeded, so that whatever
// depends on it was not tested.
func (d *digest) neverWorked() []string {
	ops := [...]string{history.OpAcquire, history.OpEnter, history.OpRead, history.OpWrite, history.OpExit, history.OpRelease}
	tried, worked := map[string]bool{}, map[string]bool{}
	for i := range d.events {
		e := &d.events[i]
		switch e.Kind {
		case history.Invoke:
			tried[e.Op] = true
		case history.OK:
			worked[e.Op] = true
		}
	}
	var reasons []string
	for _, op := range ops {
		if tried[op] && !worked[op] {
			reasons = append(reasons, fmt.Sprintf("no %s ever succeeded", op))
		}
	}
	if !tried[history.OpAcquire] {
		reasons = append(reasons, "no lock was ever wanted")
	}
	return reasons
}

// garbled: the record contradicts itself, so that the acquisitions put together
// from it cannot be trusted: a result of a call that was never made, or two
// calls under one number.
func (d *digest) garbled() []string {
	type key struct {
		client, lock string
		n            int64
	}
	open := make(map[key]bool, len(d.acquisitions))
	var orphans, twice int64
	for i := range d.events {
		e := &d.events[i]
		if e.Op != history.OpAcquire {
			continue
		}
		k := key{e.Client, e.Lock, e.Acq}
		pending, known := open[k]
		switch {
		case e.Kind == history.Invoke && known:
			twice++
		case e.Kind == history.Invoke:
			open[k] = true
		case !pending:
			orphans++
		default:
			open[k] = false
		}
	}
	var reasons []string
	if orphans > 0 {
		reasons = append(reasons, count(orphans, "acquire", "acquires")+" returned without having been called")
	}
	if twice > 0 {
		reasons = append(reasons, count(twice, "acquire", "acquires")+" called under a number that was used before")
	}
	return reasons
}
