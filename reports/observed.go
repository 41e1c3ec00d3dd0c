package reports

import (
	"strings"

	"locklab/harness/check"
	"locklab/harness/history"
)

// sessionOwners says which client a session belonged to.
func sessionOwners(events []history.Event, acq []history.Acquisition) map[history.SessionID]string {
	owner := map[history.SessionID]string{}
	for i := range acq {
		if a := &acq[i]; a.Session != 0 {
			owner[a.Session] = a.Client
		}
	}
	for i := range events {
		if e := &events[i]; e.Op == history.OpConnected && e.Session != 0 && e.Client != "" {
			owner[e.Session] = e.Client
		}
	}
	return owner
}

// heldSpans returns who was at the head of the lock's queue, as an observer's
// watch saw it, while s. An observer is told late, never early.
func heldSpans(events []history.Event, lock string, s span, end int64, owner map[history.SessionID]string) []ownedSpan {
	var all []ownedSpan
	var open *history.Event
	finish := func(at int64) {
		if open != nil && (open.Session != 0 || open.Token != 0) {
			if o := (ownedSpan{span: span{open.At, at}, Client: owner[open.Session]}); o.overlaps(s) {
				all = append(all, o)
			}
		}
	}
	for i := range events {
		if e := &events[i]; e.Op == history.OpHeld && e.Lock == lock {
			finish(e.At)
			open = e
		}
	}
	finish(end)
	return all
}

// vanished returns when the observer saw that a hold's node was no longer at
// the head of the queue though its owner had not released it; false if it did
// not see that.
func vanished(events []history.Event, a *history.Acquisition) (int64, bool) {
	at := false
	for i := range events {
		e := &events[i]
		if e.Op != history.OpHeld || e.Lock != a.Lock {
			continue
		}
		mine := e.Session == a.Session && (e.Token == 0 || a.Token == 0 || e.Token == a.Token)
		switch {
		case mine:
			at = true
		case at:
			return e.At, a.ReleaseInvoked == history.None || a.ReleaseInvoked > e.At
		}
	}
	return 0, false
}

// An access is one use of the resource, as the resource recorded it; or of what ZooKeeper keeps, as its client did.
type access struct {
	At     int64
	Client string
	Op     string
	Token  int64
	// Refused: the resource turned it away as stale. Stale: the resource took it
	// though it had already served a newer holder that excludes it.
	Refused, Stale bool
}

// accesses returns the reads and writes of a lock's resource while s, and
// whatever else was refused.
func accesses(in Input, lock string, s span) []access {
	if in.Meta.Guard == check.GuardZKMulti {
		return keptAccesses(in, lock, s)
	}
	var all []access
	var fences check.Fences
	for i := range in.Events {
		e := &in.Events[i]
		switch e.Op {
		case history.OpEnter, history.OpRead, history.OpWrite, history.OpExit:
		default:
			continue
		}
		byClient := strings.HasPrefix(e.Client, e.Process+"/") // its own record of the same access
		if e.Lock != lock || byClient || e.Kind != history.OK && e.Kind != history.Fail {
			continue
		}
		a := access{At: e.At, Client: e.Client, Op: e.Op, Token: e.Token, Refused: e.Kind == history.Fail}
		if !a.Refused {
			a.Stale = fences.Stale(e)
			fences.Serve(e)
		}
		use := e.Op == history.OpRead || e.Op == history.OpWrite
		if e.At >= s.From && e.At < s.To && (use || a.Refused) {
			all = append(all, a)
		}
	}
	return all
}

// keptAccesses are those to what ZooKeeper keeps, at the times at which their clients learned the outcome. What was outdated is as the
// check of effect found it, for that order is not the order of effects.
func keptAccesses(in Input, lock string, s span) []access {
	found := map[history.Event]string{}
	if v := in.Report.Check(check.Effect); v != nil {
		for _, f := range v.Findings {
			if n := len(f.Events); n > 0 {
				found[f.Events[n-1]] = f.Kind
			}
		}
	}
	var all []access
	for i := range in.Events {
		e := &in.Events[i]
		if e.Op != history.OpRead && e.Op != history.OpWrite || e.Lock != lock || e.Kind == history.Invoke || e.At < s.From || e.At >= s.To {
			continue
		}
		kind := found[*e]
		refused := e.Kind == history.Fail || kind == "stale-rejected"
		if e.Kind == history.OK || refused {
			all = append(all, access{At: e.At, Client: e.Client, Op: e.Op, Token: e.Token, Refused: refused, Stale: kind == "stale-accepted"})
		}
	}
	return all
}
