package check

import (
	"fmt"
	"slices"

	"locklab/harness/history"
)

// fairness counts FIFO inversions of a queue recipe: pairs of grants of one lock
// of which the one with the higher token, hence the later node, returned first.
//
// The one that was overtaken has nobody to blame if a fault had kept it silent
// for so long that its session could expire before its acquire returned
// ([digest.outage]): its turn came, passed, and it was told of both later. Such
// pairs are counted apart. How far the queue's order differs from the order in
// which acquire was called is told in the summary only: no recipe promises it.
//
// Only pairs that exclude each other count: readers that the lock lets in together
// return in any order. For the same reason permits are not judged: their tokens
// are in the order in which the service gave them out, not in that of the queue.
func fairness(d *digest, _ *Safety) Verdict {
	switch {
	case !d.facts.Queue:
		return Verdict{Result: NotApplicable, Summary: "the recipe promises no order"}
	case !d.facts.Tokens:
		return Verdict{Result: NotApplicable, Summary: "without tokens the queue's order is not known"}
	}
	var v Verdict
	var grants, excused, unsure, entry, bypass int64
	others := false
	for _, l := range d.locks {
		others = others || slices.ContainsFunc(l.grants, func(a *history.Acquisition) bool { return !ordered(a) })
		queued := ownPlaces(l.grants)
		byReturn := withTokens(queued, returnedAt)
		grants += int64(len(byReturn))
		for i, n := range overtaken(byReturn) {
			a := byReturn[i]
			if n == 0 {
				continue
			}
			switch f, doubt := d.outage(a, a.Returned); {
			case f != nil && f.certain() && doubt == "":
				excused += n
			case f != nil:
				unsure += n
			default:
				v.Count += n
				bypass = max(bypass, n)
				if len(v.Findings) < maxFindings {
					v.Findings = append(v.Findings, d.inversion(byReturn[:i], a, n))
				}
			}
		}
		entry += sum(overtaken(withTokens(queued, invokedAt)))
	}
	switch {
	case v.Count > 0:
		v.Result, v.Summary = Fail, fmt.Sprintf("%s of grants against the queue's order, one waiter overtaken by %d", count(v.Count, "pair", "pairs"), bypass)
	case grants == 0 && others:
		return Verdict{Result: NotApplicable, Summary: "the tokens of permits do not show the queue's order"}
	case grants == 0:
		v.Result, v.Summary = Unknown, "nobody got a lock"
	case unsure > 0:
		v.Result, v.Summary = Unknown, fmt.Sprintf("%s of grants against the queue's order, perhaps explained by a fault, which is not known", count(unsure, "pair", "pairs"))
	case !d.whole:
		v.Result, v.Summary = Unknown, "in the queue's order as far as the history goes, which is not complete"
	default:
		v.Result, v.Summary = Pass, count(grants, "grant", "grants")+" in the queue's order"
	}
	if excused > 0 {
		v.Summary += fmt.Sprintf("; %d more explained by a fault of the one overtaken", excused)
	}
	if entry > 0 {
		v.Summary += "; " + count(entry, "pair", "pairs") + " queued against the order of their calls"
	}
	return v
}

// ownPlaces returns the grants without the reads that have a writer's token: they
// had no place of their own in the queue.
func ownPlaces(grants []*history.Acquisition) []*history.Acquisition {
	if !slices.ContainsFunc(grants, func(a *history.Acquisition) bool { return a.Mode == history.ModeRead }) {
		return grants
	}
	written := map[int64]bool{}
	for _, a := range grants {
		written[a.Token] = written[a.Token] || history.Exclusive(a.Mode)
	}
	return slices.DeleteFunc(slices.Clone(grants), func(a *history.Acquisition) bool { return a.Mode == history.ModeRead && written[a.Token] })
}

// inversion describes a, which n of those before it overtook, by the last of them.
func (d *digest) inversion(before []*history.Acquisition, a *history.Acquisition, n int64) Finding {
	k := len(before) - 1
	for before[k].Token <= a.Token || !history.Conflict(before[k].Mode, a.Mode) {
		k--
	}
	by := before[k]
	return Finding{
		Kind: "inversion", Lock: a.Lock, At: by.Returned, Until: a.Returned, Cause: CauseNone,
		Clients: []string{a.Client, by.Client}, Tokens: []int64{a.Token, by.Token},
		Text:   fmt.Sprintf("%s (token %d) was granted %s after %d with higher tokens, the last of them %s", a.Client, a.Token, a.Lock, n, holder(by)),
		Events: append(d.eventsOf(by), d.eventsOf(a)...),
	}
}
