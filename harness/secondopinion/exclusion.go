package secondopinion

import (
	"cmp"
	"hash/fnv"
	"math"
	"slices"

	"github.com/anishathalye/porcupine"

	"locklab/harness/check"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
)

const overlapQuestion = "did clients believe at once what excludes each other?"

// A hold is a client's belief that it had a lock.
type hold struct {
	a     *history.Acquisition
	until int64 // when the belief ended; [math.MaxInt64] if it never did
}

// askExclusion asks of each lock whether its acquires and releases are linearizable (models M1, M3 and M4).
//
// That is the same question as the sweep's. A hold takes effect at some instant between the call and the return of
// acquire, and ends at some instant at or after the call of release, or after its client learned of the loss. The
// shortest holds, from the return of acquire to the call of release, are a part of all others. So an order exists if
// and only if the shortest holds do not overlap, which is what the sweep looks for. An acquire of unknown outcome made
// no client believe anything, so it is not an operation here.
func askExclusion(events *history.Log, facts evidence.Facts, report *check.Report) []Opinion {
	overlaps, all := findings(report, evidence.BeliefExclusion, evidence.KindOverlap)
	var opinions []Opinion
	locks := holdsByLock(events, facts)
	for _, lock := range sortedKeys(locks) {
		holds := locks[lock]
		found := overlaps[lock]
		o := Opinion{Question: overlapQuestion, Lock: lock, Sweep: answer(len(found) > 0)}
		if len(found) == 0 && !all {
			o.Sweep, o.Why = None, "the report does not keep all overlaps"
		}
		if v := report.Check(evidence.BeliefExclusion); len(found) == 0 && v != nil && v.Count == 0 &&
			v.Result != evidence.Pass {
			o.Sweep, o.Why = None, v.Summary
		}
		if 2*len(holds) <= MaxOperations || len(found) == 0 {
			opinions = append(opinions, o.exclusion(holds, facts, usual))
			continue
		}
		for _, f := range found[:min(len(found), maxWindows)] {
			w := o
			w.From, w.Until = f.At, f.Until
			opinions = append(opinions, w.exclusion(around(holds, f.At, f.Until), facts, usual))
		}
	}
	return opinions
}

// exclusion completes an opinion with Porcupine's answer.
func (o Opinion) exclusion(holds []hold, facts evidence.Facts, l limits) Opinion {
	if slices.ContainsFunc(holds, func(h hold) bool { return h.a.Mode == history.ModePermit }) && facts.Permits <= 0 {
		o.Second, o.Why = None, "the number of permits is not known"
		return o
	}
	model, ops := exclusionModel(holds, int64(facts.Permits))
	j := l.judge(model, ops)
	o.Second, o.Operations, o.Took = j.illegal(), j.operations, j.took
	o.Why = cmp.Or(j.why, o.Why)
	return o
}

// holdsByLock returns the holds of each lock, in the order in which acquire returned. A hold that was over before
// acquire returned excludes nothing and is left out.
func holdsByLock(events *history.Log, facts evidence.Facts) map[string][]hold {
	acquisitions := history.Acquisitions(events)
	last, complete := map[string]int64{}, false
	for _, e := range events.All() {
		last[e.Process] = e.At
		complete = complete || e.Op == history.OpEnd && e.Ending() == history.EndComplete
	}
	complete = complete && !facts.Partial && len(facts.Incomplete) == 0
	byLock := map[string][]hold{}
	for i := range acquisitions {
		a := &acquisitions[i]
		if !a.Granted() {
			continue
		}
		until := int64(math.MaxInt64)
		if !complete {
			until = last[a.Process] // what was recorded after that is lost
		}
		if until = a.BelievedUntil(until); until > a.Returned {
			byLock[a.Lock] = append(byLock[a.Lock], hold{a, until})
		}
	}
	for _, holds := range byLock {
		slices.SortStableFunc(holds, func(a, b hold) int { return cmp.Compare(a.a.Returned, b.a.Returned) })
	}
	return byLock
}

// neighbours is how many holds before and after a finding belong to its window.
const neighbours = 20

// around returns the holds that overlap a window, with some before and after. Holds that are left out can only make an
// illegal history legal, so what is illegal in a window is illegal in the whole.
func around(holds []hold, from, until int64) []hold {
	var inside []int
	for i, h := range holds {
		if h.a.Returned <= until && h.until >= from {
			inside = append(inside, i)
		}
	}
	if len(inside) == 0 {
		return nil
	}
	first, last := inside[0], inside[len(inside)-1]
	var chosen []hold
	for i, h := range holds {
		near := i >= first-neighbours && i < first || i > last && i <= last+neighbours
		if _, in := slices.BinarySearch(inside, i); in || near {
			chosen = append(chosen, h)
		}
	}
	return chosen
}

// A step of the exclusion model takes, or gives back, what a hold has.
type step struct {
	hold int
	take bool
}

// exclusionModel returns the model of a lock and the operations of its holds. A state is the sorted list of the holds
// that are in effect.
func exclusionModel(holds []hold, permits int64) (porcupine.Model, []porcupine.Operation) {
	end := int64(0)
	for _, h := range holds {
		end = max(end, h.a.Returned)
		if h.until != math.MaxInt64 {
			end = max(end, h.until)
		}
		end = max(end, h.a.ReleaseReturned)
	}
	var ops []porcupine.Operation
	add := func(s step, from, until int64) {
		ops = append(ops, porcupine.Operation{ClientId: len(ops), Input: s, Call: from, Return: until})
	}
	for i, h := range holds {
		add(step{i, true}, h.a.Invoked, h.a.Returned)
		switch {
		case h.until == math.MaxInt64:
		case h.until == h.a.ReleaseInvoked && h.a.ReleaseReturned != history.None:
			add(step{i, false}, h.until, h.a.ReleaseReturned)
		default:
			add(step{i, false}, h.until, end+1) // nobody confirmed the end, so it may have come at any time
		}
	}
	allows := func(in []int, n int) bool {
		taken := holds[n].a.Permits
		for _, i := range in {
			taken += holds[i].a.Permits
			// A client is one goroutine and does not exclude itself: a writer may read.
			if history.Conflict(holds[i].a.Mode, holds[n].a.Mode) && holds[i].a.Client != holds[n].a.Client {
				return false
			}
		}
		return holds[n].a.Mode != history.ModePermit || taken <= permits
	}
	return porcupine.Model{
		Init: func() any { return []int(nil) },
		Step: func(state, input, _ any) (bool, any) {
			in, s := state.([]int), input.(step)
			at, there := slices.BinarySearch(in, s.hold)
			if s.take {
				return allows(in, s.hold), slices.Insert(slices.Clone(in), at, s.hold)
			}
			if !there {
				return false, in
			}
			return true, slices.Delete(slices.Clone(in), at, at+1)
		},
		Equal: func(a, b any) bool { return slices.Equal(a.([]int), b.([]int)) },
		Hash: func(state any) uint64 {
			h := fnv.New64a()
			for _, i := range state.([]int) {
				h.Write([]byte{byte(i), byte(i >> 8), byte(i >> 16)})
			}
			return h.Sum64()
		},
	}, ops
}
