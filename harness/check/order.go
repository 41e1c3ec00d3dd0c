package check

import (
	"cmp"
	"slices"
	"sort"

	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
)

// overtaken says for each of the grants, which must be ordered by at, how many of those before it that exclude it have
// a higher token: how often it was overtaken. Those that are before it by less than slack do not count. A read is not
// overtaken by a read. The sum is the number of inversions. It takes O(n log n), by Fenwick trees over the ranks of
// the tokens. Mostly no token is lower than one before it; then it returns nil, because no grant was overtaken.
func overtaken(grants []*history.Acquisition, at func(*history.Acquisition) int64, slack int64) []int64 {
	if slices.IsSortedFunc(grants, byToken) {
		return nil
	}
	ranked := make([]int64, len(grants))
	for i, a := range grants {
		ranked[i] = a.Token
	}
	slices.Sort(ranked)
	ranked = slices.Compact(ranked)

	all, exclusive := newTally(len(ranked)), newTally(len(ranked))
	by := make([]int64, len(grants))
	added := 0
	for i, a := range grants {
		for ; added < i && at(grants[added])+slack <= at(a); added++ {
			rank, _ := slices.BinarySearch(ranked, grants[added].Token)
			if history.Exclusive(grants[added].Mode) {
				exclusive.add(rank)
			}
			all.add(rank)
		}
		rank, _ := slices.BinarySearch(ranked, a.Token)
		if history.Exclusive(a.Mode) {
			by[i] = all.above(rank)
		} else {
			by[i] = exclusive.above(rank)
		}
	}
	return by
}

// overtook reports whether b, which returned before a, was certainly granted before it though it should have been
// later.
func overtook(d *evidence.Digest, b, a *history.Acquisition) bool {
	return b.Token > a.Token && history.Conflict(b.Mode, a.Mode) &&
		b.Returned+d.Clocks().Between(b.Process, a.Process) <= a.Returned
}

// certainly says how many of the grants before a certainly overtook it, of which far did so by so much that no clocks
// matter.
func certainly(d *evidence.Digest, before []*history.Acquisition, a *history.Acquisition, far int64) int64 {
	for k := len(before) - 1; k >= 0 && before[k].Returned+d.Clocks().Most > a.Returned; k-- {
		if overtook(d, before[k], a) {
			far++
		}
	}
	return far
}

// A tally is a Fenwick tree that counts by rank.
type tally struct {
	n    int64
	tree []int64
}

func newTally(ranks int) *tally { return &tally{tree: make([]int64, ranks+1)} }

func (t *tally) add(rank int) {
	t.n++
	for k := rank + 1; k < len(t.tree); k += k & -k {
		t.tree[k]++
	}
}

// above counts what was added at a higher rank.
func (t *tally) above(rank int) int64 {
	n := t.n
	for k := rank + 1; k > 0; k -= k & -k {
		n -= t.tree[k]
	}
	return n
}

func sum(all []int64) int64 {
	var n int64
	for _, v := range all {
		n += v
	}
	return n
}

// withTokens returns the grants with a token that orders them, and so no permits, ordered by at. Of those at one
// instant the lower token comes first, so that a tie is not an inversion. What it returns may be grants itself.
func withTokens(grants []*history.Acquisition, at func(*history.Acquisition) int64) []*history.Acquisition {
	without := func(a *history.Acquisition) bool { return a.Token == 0 || !ordered(a) }
	order := func(a, b *history.Acquisition) int { return cmp.Or(cmp.Compare(at(a), at(b)), byToken(a, b)) }
	all := grants
	if slices.ContainsFunc(all, without) {
		all = slices.DeleteFunc(slices.Clone(grants), without)
	}
	if !slices.IsSortedFunc(all, order) {
		all = slices.Clone(all)
		slices.SortStableFunc(all, order)
	}
	return all
}

func byToken(a, b *history.Acquisition) int { return cmp.Compare(a.Token, b.Token) }

// ordered reports whether a's token says when it was granted relative to others.
func ordered(a *history.Acquisition) bool {
	return history.Exclusive(a.Mode) || a.Mode == history.ModeRead
}

func invokedAt(a *history.Acquisition) int64  { return a.Invoked }
func returnedAt(a *history.Acquisition) int64 { return a.Returned }

// A permitOrder is what the servers' transactions say about the order in which a semaphore's permits were granted.
type permitOrder struct {
	judged   int64 // grants
	count    int64 // of them out of order
	worst    int64 // how many of these passed one waiter
	findings []evidence.Finding
}

// permitOrderOf judges grants of permits by the queue that the semaphore has in its directory locks.
//
// The tokens of permits are those of the leases, which clients get with the grant, and several clients may rightly be
// told of their grants in any order. What a semaphore that queues promises is that only the head of the queue takes
// leases, even where the head asks for more permits than are free and the next waiter does not. So a grant is out of
// order if, when one of its leases was created, the head of the queue was the znode of another session. The servers
// put both on record in the same order, so no fault and no clock can make that appear.
func permitOrderOf(d *evidence.Digest, lock string, grants []*history.Acquisition) (o permitOrder) {
	queue, ok := d.Servers.Layout.Queue(lock)
	if !ok {
		return o
	}
	var lane *nodes.Lane
	passed := map[*nodes.Life]int64{}
	for _, a := range grants {
		w := d.Servers.Proof(a)
		if a.Mode != history.ModePermit || w.Answer != nodes.Witnessed {
			continue
		}
		if lane == nil {
			lane = d.Servers.History.Lane(queue, nodes.First)
		}
		o.judged++
		for _, lease := range w.Spans {
			head := headBefore(lane, lease.Czxid)
			if head == nil || head.Owner == lease.Owner {
				continue
			}
			o.count++
			passed[head.Life]++
			o.worst = max(o.worst, passed[head.Life])
			if len(o.findings) < evidence.MaxFindings {
				o.findings = append(o.findings, passedBy(d, a, lease, head))
			}
			break
		}
	}
	return o
}

// headBefore is the head of the queue that the transaction with zxid found, nil if the queue was empty.
func headBefore(queue *nodes.Lane, zxid int64) *nodes.Span {
	i := sort.Search(len(queue.Spans), func(i int) bool { return queue.Spans[i].From >= zxid }) - 1
	if i < 0 || queue.Spans[i].To != 0 && queue.Spans[i].To < zxid {
		return nil
	}
	return &queue.Spans[i]
}

func passedBy(d *evidence.Digest, a *history.Acquisition, lease, head *nodes.Span) evidence.Finding {
	f := d.FindingOf(evidence.KindInversion, a, a.Invoked, a.Returned,
		"%s got a permit of %s at zxid %s, when the head of the queue was %s of %s, since zxid %s", evidence.Holder(a),
		a.Lock, evidence.Zxid(lease.Czxid), head.Name(), d.Whose(head.Owner), evidence.Zxid(head.From))
	f.Zxids = evidence.ZxidWords([]int64{head.From, lease.Czxid})
	return f
}
