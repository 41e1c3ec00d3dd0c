package check

import (
	"fmt"
	"slices"
	"strings"

	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
)

var fairnessCheck = evidence.Check{
	Name:    evidence.Fairness,
	Asks:    "was the lock granted in the order of the queue's znodes?",
	Subject: "the order of the queue",
	// Only a recipe that queues promises an order.
	Default: func(f *evidence.Facts) evidence.Expectation {
		if f.Queue {
			return evidence.ExpectPass
		}
		return evidence.ExpectAny
	},
	Judge: judgeFairness,
}

// judgeFairness counts the FIFO inversions of a recipe that queues: pairs of grants of one lock in which the one with
// the higher token, and so the later node, returned first. Without tokens the servers' transaction logs
// tell which node was a grant's.
//
// Nothing is to blame for an overtaken grant if a fault, or a recorded standstill, had kept its client silent for so
// long that its session could expire before its acquire returned, or if an administrator ended it meanwhile
// ([evidence.Digest.lostUntold]): its turn came and passed, and it was told of both later. Such pairs are counted
// apart. How far the queue's order differs from the order in which acquire was called is only told in the summary,
// because no recipe promises it.
//
// Only pairs that exclude each other count, because readers that the lock lets in together return in any order. Permits
// are judged by the servers' transactions alone: see [evidence.Digest.permitOrder].
func judgeFairness(d *evidence.Digest, _ *evidence.Safety) evidence.Verdict {
	switch {
	case !d.Facts.Queue:
		return evidence.Verdict{Result: evidence.NotApplicable, Summary: "the recipe promises no order"}
	case !d.Facts.Tokens && d.Servers == nil:
		return evidence.Verdict{Result: evidence.NotApplicable,
			Summary: "without tokens and without the servers' transaction logs the " +
				"queue's order is not known"}
	case !d.Facts.Tokens && len(d.Servers.DoubtedBecause()) > 0:
		return evidence.Verdict{Result: evidence.Unknown,
			Summary: "without tokens the queue's order is known only from the servers' " +
				"transaction logs, but " + strings.Join(d.Servers.DoubtedBecause(), "; ")}
	}
	var v evidence.Verdict
	var grants, excused, unsure, close, entry, bypass int64
	permitted, may := false, "a fault"
	for _, l := range d.Locks {
		permitted = permitted || slices.ContainsFunc(l.Grants, func(a *history.Acquisition) bool { return !ordered(a) })
		if d.Servers != nil && d.Transactions.Whole() {
			o := permitOrderOf(d, l.Lock, l.Grants)
			grants, v.Count, bypass = grants+o.judged, v.Count+o.count, max(bypass, o.worst)
			v.Findings = append(v.Findings, o.findings[:min(len(o.findings), evidence.MaxFindings-len(v.Findings))]...)
		}
		queued := ownPlaces(placed(d, l.Grants))
		byReturn := withTokens(queued, returnedAt)
		grants += int64(len(byReturn))
		far := overtaken(byReturn, returnedAt, d.Clocks().Most)
		for i, n := range overtaken(byReturn, returnedAt, 0) {
			a := byReturn[i]
			if n == 0 {
				continue
			}
			certain := certainly(d, byReturn[:i], a, far[i])
			switch x := d.LostUntold(asPassed(byReturn[:i], a)); {
			case x.Explained():
				excused += n
			case x.Unsure():
				unsure += n
				if x.Unseen() {
					may = evidence.Unwatched
				}
			default:
				close += n - certain
				v.Count += certain
				bypass = max(bypass, certain)
				if certain > 0 && len(v.Findings) < evidence.MaxFindings {
					v.Findings = append(v.Findings, inversion(d, byReturn[:i], a, certain))
				}
			}
		}
		entry += sum(overtaken(withTokens(queued, invokedAt), invokedAt, 0))
	}
	switch {
	case v.Count > 0:
		v.Setf(evidence.Fail, "%s of grants against the queue's order, one waiter overtaken by %d",
			evidence.Count(v.Count, "pair", "pairs"), bypass)
	case permitted && (d.Servers == nil || d.Servers.Layout != nodes.LayoutSemaphore):
		return evidence.Verdict{Result: evidence.NotApplicable,
			Summary: "the tokens of permits do not show the order of the queue, and " +
				"there are no transaction logs of the servers that do"}
	case permitted && len(d.Servers.DoubtedBecause()) > 0:
		v.Setf(evidence.Unknown, "the order of permits is known only from the servers' transaction logs, but %s",
			strings.Join(d.Servers.DoubtedBecause(), "; "))
	case grants == 0:
		v.Setf(evidence.Unknown, "no client got a lock")
	case unsure > 0:
		v.Setf(evidence.Unknown, "%s of grants against the queue's order, which %s may explain",
			evidence.Count(unsure, "pair", "pairs"), may)
	case close > 0:
		v.Setf(evidence.Unknown, "%s of grants against the queue's order by less than the clocks can differ",
			evidence.Count(close, "pair", "pairs"))
	case !d.Whole:
		v.Setf(evidence.Unknown, "in the queue's order as far as the history goes, which is not complete")
	default:
		v.Result, v.Summary = evidence.Pass, evidence.Count(grants, "grant", "grants")+" in the queue's order"
	}
	if excused > 0 {
		v.Summary += fmt.Sprintf("; %d more explained by what had silenced the overtaken client", excused)
	}
	if entry > 0 {
		v.Summary += "; in " + evidence.Count(entry, "pair", "pairs") +
			" of grants, the client that asked later was queued first"
	}
	return v
}

// placed returns the grants with what orders them as their tokens. Where a recipe gives no tokens, that is the creation
// zxid of the znode that the servers' transaction logs have for the grant.
func placed(d *evidence.Digest, grants []*history.Acquisition) []*history.Acquisition {
	if d.Facts.Tokens {
		return grants
	}
	var all []*history.Acquisition
	for _, a := range grants {
		if w := d.Servers.Proof(a); w.Answer == nodes.Witnessed && len(w.Spans) == 1 {
			a := *a
			a.Token = w.Spans[0].Czxid
			all = append(all, &a)
		}
	}
	return all
}

// ownPlaces returns the grants without the reads that have a writer's token, because those had no place of their own
// in the queue.
func ownPlaces(grants []*history.Acquisition) []*history.Acquisition {
	if !slices.ContainsFunc(grants, func(a *history.Acquisition) bool { return a.Mode == history.ModeRead }) {
		return grants
	}
	written := map[int64]bool{}
	for _, a := range grants {
		written[a.Token] = written[a.Token] || history.Exclusive(a.Mode)
	}
	return slices.DeleteFunc(slices.Clone(grants),
		func(a *history.Acquisition) bool { return a.Mode == history.ModeRead && written[a.Token] })
}

// placeOf names what gave a grant its place in the queue.
func placeOf(d *evidence.Digest, a *history.Acquisition) string {
	if d.Facts.Tokens {
		return fmt.Sprintf("token %d", a.Token)
	}
	return "znode of zxid " + evidence.Zxid(a.Token)
}

// inversion describes a, which n of the grants before it overtook, by the last of them.
func inversion(d *evidence.Digest, before []*history.Acquisition, a *history.Acquisition, n int64) evidence.Finding {
	k := len(before) - 1
	for !overtook(d, before[k], a) {
		k--
	}
	by, later := before[k], "higher tokens"
	if !d.Facts.Tokens {
		later = "later znodes"
	}
	return evidence.Finding{
		Kind: evidence.KindInversion, Lock: a.Lock, At: by.Returned, Until: a.Returned, Cause: evidence.CauseNone,
		Clients: []string{a.Client, by.Client}, Tokens: []int64{a.Token, by.Token},
		Text: fmt.Sprintf("%s (%s) was granted %s after %d with %s, the last of them %s (%s)", a.Client,
			placeOf(d, a), a.Lock, n, later, by.Client, placeOf(d, by)),
		Events: append(d.EventsOf(by), d.EventsOf(a)...),
	}
}

// asPassed is a as it would be if it had returned when the first that passed it by did: what cost a its turn came
// before that. Readers have their turns together, and may be told in any order.
func asPassed(before []*history.Acquisition, a *history.Acquisition) *history.Acquisition {
	then := *a
	for _, b := range before {
		if b.Token > a.Token && (a.Mode != history.ModeRead || b.Mode != history.ModeRead) {
			then.Returned = min(then.Returned, b.Returned)
		}
	}
	return &then
}
