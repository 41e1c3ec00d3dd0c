package check

import (
	"fmt"
	"slices"
	"strings"

	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/history"
)

// Fairness names the check that this file defines.
const Fairness = "fairness"

var fairnessCheck = Check{
	Name:    Fairness,
	Asks:    "was the lock granted in the order of the queue's znodes?",
	Subject: "the order of the queue",
	// Only a recipe that queues promises an order.
	Default: func(f *Facts) Expectation {
		if f.Queue {
			return ExpectPass
		}
		return ExpectAny
	},
	judge: judgeFairness,
}

// judgeFairness counts the FIFO inversions of a recipe that queues: pairs of grants of one lock in which the one with
// the higher token, and so the later node, returned first. Without tokens the servers' transaction logs
// tell which node was a grant's.
//
// Nothing is to blame for an overtaken grant if a fault, or a recorded standstill, had kept its client silent for so
// long that its session could expire before its acquire returned, or if an administrator ended it meanwhile
// ([digest.lostUntold]): its turn came and passed, and it was told of both later. Such pairs are counted apart. How
// far the queue's order differs from the order in which acquire was called is only told in the summary, because no
// recipe promises it.
//
// Only pairs that exclude each other count, because readers that the lock lets in together return in any order. Permits
// are judged by the servers' transactions alone: see [digest.permitOrder].
func judgeFairness(d *digest, _ *Safety) Verdict {
	switch {
	case !d.facts.Queue:
		return Verdict{Result: NotApplicable, Summary: "the recipe promises no order"}
	case !d.facts.Tokens && d.servers == nil:
		return Verdict{Result: NotApplicable, Summary: "without tokens and without the servers' transaction logs the " +
			"queue's order is not known"}
	case !d.facts.Tokens && len(d.servers.doubts()) > 0:
		return Verdict{Result: Unknown, Summary: "without tokens the queue's order is known only from the servers' " +
			"transaction logs, but " + strings.Join(d.servers.doubts(), "; ")}
	}
	var v Verdict
	var grants, excused, unsure, close, entry, bypass int64
	permitted := false
	for _, l := range d.locks {
		permitted = permitted || slices.ContainsFunc(l.grants, func(a *history.Acquisition) bool { return !ordered(a) })
		if d.servers != nil && d.transactions.whole() {
			o := d.permitOrder(l.lock, l.grants)
			grants, v.Count, bypass = grants+o.judged, v.Count+o.count, max(bypass, o.worst)
			v.Findings = append(v.Findings, o.findings[:min(len(o.findings), maxFindings-len(v.Findings))]...)
		}
		queued := ownPlaces(d.placed(l.grants))
		byReturn := withTokens(queued, returnedAt)
		grants += int64(len(byReturn))
		far := overtaken(byReturn, returnedAt, d.clocks().most)
		for i, n := range overtaken(byReturn, returnedAt, 0) {
			a := byReturn[i]
			if n == 0 {
				continue
			}
			certain := d.certainly(byReturn[:i], a, far[i])
			switch x := d.lostUntold(a); {
			case x.explained():
				excused += n
			case x.unsure():
				unsure += n
			default:
				close += n - certain
				v.Count += certain
				bypass = max(bypass, certain)
				if certain > 0 && len(v.Findings) < maxFindings {
					v.Findings = append(v.Findings, d.inversion(byReturn[:i], a, certain))
				}
			}
		}
		entry += sum(overtaken(withTokens(queued, invokedAt), invokedAt, 0))
	}
	switch {
	case v.Count > 0:
		v.setf(Fail, "%s of grants against the queue's order, one waiter overtaken by %d", count(v.Count, "pair", "pairs"),
			bypass)
	case permitted && (d.servers == nil || d.servers.Layout != nodes.LayoutSemaphore):
		return Verdict{Result: NotApplicable, Summary: "the tokens of permits do not show the order of the queue, and " +
			"there are no transaction logs of the servers that do"}
	case permitted && len(d.servers.doubts()) > 0:
		v.setf(Unknown, "the order of permits is known only from the servers' transaction logs, but %s",
			strings.Join(d.servers.doubts(), "; "))
	case grants == 0:
		v.setf(Unknown, "no client got a lock")
	case unsure > 0:
		v.setf(Unknown, "%s of grants against the queue's order, which a fault may explain", count(unsure, "pair", "pairs"))
	case close > 0:
		v.setf(Unknown, "%s of grants against the queue's order by less than the clocks can differ",
			count(close, "pair", "pairs"))
	case !d.whole:
		v.setf(Unknown, "in the queue's order as far as the history goes, which is not complete")
	default:
		v.Result, v.Summary = Pass, count(grants, "grant", "grants")+" in the queue's order"
	}
	if excused > 0 {
		v.Summary += fmt.Sprintf("; %d more explained by what had silenced the overtaken client", excused)
	}
	if entry > 0 {
		v.Summary += "; in " + count(entry, "pair", "pairs") + " of grants, the client that asked later was queued first"
	}
	return v
}

// placed returns the grants with what orders them as their tokens. Where a recipe gives no tokens, that is the creation
// zxid of the znode that the servers' transaction logs have for the grant.
func (d *digest) placed(grants []*history.Acquisition) []*history.Acquisition {
	if d.facts.Tokens {
		return grants
	}
	var all []*history.Acquisition
	for _, a := range grants {
		if w := d.servers.proof(a); w.answer == nodes.Witnessed && len(w.spans) == 1 {
			a := *a
			a.Token = w.spans[0].Czxid
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
func (d *digest) placeOf(a *history.Acquisition) string {
	if d.facts.Tokens {
		return fmt.Sprintf("token %d", a.Token)
	}
	return "znode of zxid " + Zxid(a.Token)
}

// inversion describes a, which n of the grants before it overtook, by the last of them.
func (d *digest) inversion(before []*history.Acquisition, a *history.Acquisition, n int64) Finding {
	k := len(before) - 1
	for !d.overtook(before[k], a) {
		k--
	}
	by, later := before[k], "higher tokens"
	if !d.facts.Tokens {
		later = "later znodes"
	}
	return Finding{
		Kind: KindInversion, Lock: a.Lock, At: by.Returned, Until: a.Returned, Cause: CauseNone,
		Clients: []string{a.Client, by.Client}, Tokens: []int64{a.Token, by.Token},
		Text: fmt.Sprintf("%s (%s) was granted %s after %d with %s, the last of them %s (%s)", a.Client,
			d.placeOf(a), a.Lock, n, later, by.Client, d.placeOf(by)),
		Events: append(d.eventsOf(by), d.eventsOf(a)...),
	}
}
