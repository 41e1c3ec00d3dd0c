package secondopinion

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/anishathalye/porcupine"

	"locklab/harness/check"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
)

const lostQuestion = "were updates lost?"

// An increment is one client's read and write of a counter: from value-1 to value.
type increment struct {
	value         int64
	called, ended int64 // ended is [math.MaxInt64] if its outcome is unknown
}

func (i increment) unknown() bool { return i.ended == math.MaxInt64 }

// An ending is the last operation on a counter. Whatever is of unknown outcome takes effect before it or never.
type ending struct {
	final int64
	known bool
}

// askCounters asks of each counter whether the increments, and its value in the end, are linearizable as atomic
// increments.
//
// Where an acknowledged update is missing in the end, they are not, because the final value is lower than the number
// of increments that must have taken effect. The reverse is weaker: increments that are not atomic need not lose an
// acknowledged update, but the effect check must have found something. Where it found damage other than lost updates,
// which does not make increments less atomic, the sweep has no opinion.
func askCounters(events *history.Log, facts evidence.Facts, report *check.Report) []Opinion {
	counters, shared := incrementsByLock(events)
	lost, _ := findings(report, evidence.Effect, evidence.KindLostUpdate)
	effect := report.Check(evidence.Effect)
	var opinions []Opinion
	illegal, open := false, false
	for _, lock := range sortedKeys(counters) {
		all := counters[lock]
		o := Opinion{Question: lostQuestion, Lock: lock, Sweep: None}
		if effect != nil && effect.Result == evidence.Pass {
			o.Sweep = No
		}
		switch {
		case shared[lock]:
			o.Second, o.Why = None, "its writers need not exclude each other"
		case len(all) < MaxOperations || len(lost[lock]) == 0:
			if n := report.Safety.LostUpdates; n != nil && *n > 0 && len(counters) == 1 {
				o.Sweep = Yes
			}
			final, known := facts.FinalValues[lock]
			o = o.counter(all, ending{final, known}, 0, usual)
		default:
			for _, f := range lost[lock][:min(len(lost[lock]), maxWindows)] {
				w := o
				ops := w.window(all, f)
				// An update that its own client does not know to have taken effect may be overwritten.
				if !slices.ContainsFunc(ops, increment.unknown) {
					w.Sweep = Yes
				}
				w = w.counter(ops, ending{}, anyValue, usual)
				illegal = illegal || w.Second == Yes
				opinions = append(opinions, w)
			}
			open = true
			continue
		}
		illegal, open = illegal || o.Second == Yes, open || o.Second == None
		opinions = append(opinions, o)
	}
	if n := report.Safety.LostUpdates; n != nil && *n > 0 && !illegal && !open {
		opinions = append(opinions, Opinion{Question: lostQuestion, Lock: "all locks", Sweep: Yes, Second: No})
	}
	return opinions
}

// counter completes an opinion with Porcupine's answer. The counter is at first in the beginning.
func (o Opinion) counter(all []increment, end ending, first int64, l limits) Opinion {
	model, ops := counterModel(all, end, first)
	j := l.judge(model, ops)
	o.Second, o.Operations, o.Why, o.Took = j.illegal(), j.operations, j.why, j.took
	return o
}

// window returns the increments around a finding and sets the window's bounds, so that no other increment was under
// way at either of them.
func (o *Opinion) window(all []increment, f evidence.Finding) []increment {
	o.From, o.Until = f.At, max(f.At, f.Until)
	for _, e := range f.Events {
		o.From = min(o.From, e.At)
	}
	for {
		var in []increment
		from, until := o.From, o.Until
		for _, i := range all {
			if i.called > o.Until || i.ended < o.From {
				continue
			}
			in = append(in, i)
			if from = min(from, i.called); !i.unknown() {
				until = max(until, i.ended)
			}
		}
		if from == o.From && until == o.Until {
			return in
		}
		o.From, o.Until = from, until
	}
}

// incrementsByLock returns what clients wrote to each counter, by their own record, and which locks had writers that
// need not exclude each other. Writes that were refused had no effect and are left out.
func incrementsByLock(events *history.Log) (byLock map[string][]increment, shared map[string]bool) {
	type holdKey struct {
		client, lock string
		n            int64
	}
	type progress struct {
		last int64 // when the section's last step was recorded
		read int64 // when the latest read can have begun; [history.None] if nothing was read since the last write
		at   int   // the write under way
	}
	byLock, shared = map[string][]increment{}, map[string]bool{}
	holds := map[holdKey]*progress{}
	// The steps of a section follow one another. A loss may be recorded between any of them.
	for _, e := range events.Of(history.OpAcquire, history.OpEnter, history.OpRead, history.OpWrite, history.OpExit) {
		if e.Acq == 0 || e.Client == "" || !ownRecord(&e) {
			continue
		}
		k := holdKey{e.Client, e.Lock, e.Acq}
		p := holds[k]
		if p == nil || e.Op == history.OpAcquire && e.Kind == history.Invoke {
			p = &progress{last: e.At, read: history.None}
			holds[k] = p
		}
		switch {
		case e.Op == history.OpRead && e.Kind == history.OK:
			p.read = p.last
		case e.Op == history.OpWrite && e.Kind == history.Invoke:
			called := e.At
			if p.read != history.None {
				called, p.read = p.read, history.None
			}
			p.at = len(byLock[e.Lock])
			byLock[e.Lock] = append(byLock[e.Lock], increment{e.Access().Value, called, math.MaxInt64})
			shared[e.Lock] = shared[e.Lock] || !history.Exclusive(e.Mode)
		case e.Op == history.OpWrite && e.Kind == history.OK:
			byLock[e.Lock][p.at].ended = e.At
		case e.Op == history.OpWrite && e.Kind == history.Fail:
			byLock[e.Lock][p.at].ended = history.None
		}
		p.last = e.At
	}
	for lock, all := range byLock {
		byLock[lock] = slices.DeleteFunc(all, func(i increment) bool { return i.ended == history.None })
	}
	return byLock, shared
}

// ownRecord reports whether a client's own process recorded an event about it.
func ownRecord(e *history.Event) bool {
	return len(e.Client) > len(e.Process) && e.Client[:len(e.Process)] == e.Process && e.Client[len(e.Process)] == '/'
}

// anyValue is the value of a counter that may have had any in the beginning.
const anyValue = -1

// A count is the state of the counter model.
type count struct {
	value int64
	ended bool
}

// counterModel returns the model of a counter that is only ever incremented, and its operations. An increment of
// unknown outcome takes effect before the end or does nothing after it: if it might do nothing at any time, the search
// would take exponential time (see the manual).
func counterModel(all []increment, end ending, first int64) (porcupine.Model, []porcupine.Operation) {
	last := int64(0)
	for _, i := range all {
		last = max(last, i.called)
		if !i.unknown() {
			last = max(last, i.ended)
		}
	}
	var ops []porcupine.Operation
	add := func(input any, from, until int64) {
		ops = append(ops, porcupine.Operation{ClientId: len(ops), Input: input, Call: from, Return: until})
	}
	for _, i := range all {
		add(i, i.called, min(i.ended, last+2))
	}
	add(end, last+1, last+1)
	return porcupine.Model{
		Init: func() any { return count{value: first} },
		Step: func(state, input, _ any) (bool, any) {
			c := state.(count)
			switch in := input.(type) {
			case ending:
				return !in.known || in.final == c.value || c.value == anyValue, count{c.value, true}
			case increment:
				switch {
				case c.ended:
					return in.unknown(), c
				case c.value != anyValue && c.value != in.value-1:
					return false, c
				}
				return true, count{value: in.value}
			}
			panic(fmt.Sprintf("no operation on a counter: %T", input))
		},
		Hash: func(state any) uint64 { return uint64(state.(count).value) },
	}, ops
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
