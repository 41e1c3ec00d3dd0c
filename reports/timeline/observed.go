package timeline

import (
	"strings"

	"locklab/harness/check/effect"
	"locklab/harness/check/evidence"
	"locklab/harness/check/spans"
	"locklab/harness/history"
	"locklab/reports/result"
)

// sessionOwners returns the client of each session.
func sessionOwners(events *history.Log, acq []history.Acquisition) map[history.SessionID]string {
	owner := map[history.SessionID]string{}
	for i := range acq {
		if a := &acq[i]; a.Session != 0 {
			owner[a.Session] = a.Client
		}
	}
	for _, e := range events.Of(history.OpConnected) {
		if e.Session != 0 && e.Client != "" {
			owner[e.Session] = e.Client
		}
	}
	return owner
}

// heldSpans returns which clients were at the head of the lock's queue during s, as an observer's watch saw it. An
// observer sees it late, never early.
func heldSpans(events *history.Log, lock string, s spans.Span, end int64,
	owner map[history.SessionID]string) []ownedSpan {
	var all []ownedSpan
	var open *history.Event
	finish := func(at int64) {
		if open != nil && (open.Session != 0 || open.Token != 0) {
			if o := (ownedSpan{Span: spans.Span{From: open.At, Until: at}, Client: owner[open.Session]}); o.Overlaps(s) {
				all = append(all, o)
			}
		}
	}
	for _, e := range events.Of(history.OpHeld) {
		if e.Lock == lock {
			finish(e.At)
			open = &e
		}
		if e.At >= s.Until {
			break
		}
	}
	finish(end)
	return all
}

// vanished returns when the observer saw that a hold's node was no longer at the head of the queue although its owner
// had not released it; false if it did not see this.
func vanished(events *history.Log, a *history.Acquisition) (int64, bool) {
	at := false
	for _, e := range events.Of(history.OpHeld) {
		if e.Lock != a.Lock {
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

// An access is a use of the resource, as the resource recorded it, or of data in ZooKeeper, as the client recorded
// it.
type access struct {
	At int64
	// Called is when the client invoked the access; At if that is not recorded, as of every access but a write.
	Called int64
	Client string
	Acq    int64
	Op     history.Op
	Token  int64
	// Refused says that the resource refused the access as stale. Stale says that the resource accepted it although
	// it had already served a newer holder that excludes it.
	Refused, Stale bool
}

// accesses returns, for each scene, the reads and writes of its lock's resource in it, and other accesses if they were
// refused.
func accesses(in result.Input, scenes []Scene) [][]access {
	if in.Scenario.Guard == evidence.GuardZKMulti {
		return keptAccesses(in, scenes)
	}
	all := make([][]access, len(scenes))
	fences := map[string]*effect.Fences{} // of the scenes' locks
	for i := range scenes {
		fences[scenes[i].Lock] = &effect.Fences{}
	}
	calls := map[string]history.Event{} // by client: its latest
	end := endOf(scenes)
	for _, e := range in.Events.Of(history.OpEnter, history.OpRead, history.OpWrite, history.OpExit) {
		if e.At >= end {
			break
		}
		fence := fences[e.Lock]
		if fence == nil {
			continue
		}
		byClient := strings.HasPrefix(e.Client, e.Process+"/") // the client's record of the same access
		if byClient && e.Kind == history.Invoke {
			calls[e.Client] = e
		}
		if byClient || e.Kind != history.OK && e.Kind != history.Fail {
			continue
		}
		a := access{At: e.At, Called: e.At, Client: e.Client, Acq: e.Acq, Op: e.Op, Token: e.Token,
			Refused: e.Kind == history.Fail}
		if call := calls[e.Client]; call.Op == e.Op && call.Acq == e.Acq && call.Lock == e.Lock &&
			call.Session == e.Session {
			a.Called = call.At
		}
		if !a.Refused {
			a.Stale = fence.Stale(&e)
			fence.Serve(&e)
		}
		if e.Op == history.OpRead || e.Op == history.OpWrite || a.Refused {
			addTo(all, scenes, e.Lock, a)
		}
	}
	return all
}

// endOf is when the last scene ends.
func endOf(scenes []Scene) (end int64) {
	for i := range scenes {
		end = max(end, scenes[i].Until)
	}
	return end
}

// addTo adds an access to the scenes that it belongs to.
func addTo(all [][]access, scenes []Scene, lock string, a access) {
	for i := range scenes {
		if s := &scenes[i]; s.Lock == lock && a.At >= s.From && a.At < s.Until {
			all[i] = append(all[i], a)
		}
	}
}

// keptAccesses returns the accesses to data in ZooKeeper, at the times at which their clients learned the outcome.
// Since that order is not the order of effects, the check of effect says which of them were outdated.
func keptAccesses(in result.Input, scenes []Scene) [][]access {
	found := map[history.Event]evidence.Kind{}
	if v := in.Report.Check(evidence.Effect); v != nil {
		for _, f := range v.Findings {
			if n := len(f.Events); n > 0 {
				found[f.Events[n-1]] = f.Kind
			}
		}
	}
	all := make([][]access, len(scenes))
	end := endOf(scenes)
	for _, e := range in.Events.Of(history.OpRead, history.OpWrite) {
		if e.At >= end {
			break
		}
		kind := found[e]
		refused := e.Kind == history.Fail || kind == evidence.KindStaleRejected
		if e.Kind == history.OK || e.Kind != history.Invoke && refused {
			addTo(all, scenes, e.Lock, access{At: e.At, Called: e.At, Client: e.Client, Acq: e.Acq, Op: e.Op,
				Token: e.Token, Refused: refused, Stale: kind == evidence.KindStaleAccepted})
		}
	}
	return all
}
