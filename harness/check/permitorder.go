package check

import (
	"fmt"
	"sort"

	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/history"
)

// A permitOrder is what the servers' transactions say about the order in which a semaphore's permits were granted.
type permitOrder struct {
	judged   int64 // grants
	count    int64 // of them out of order
	worst    int64 // how many of these passed one waiter
	findings []Finding
}

// permitOrder judges grants of permits by the queue that the semaphore has in its directory locks.
//
// The tokens of permits are those of the leases, which clients get with the grant, and several clients may rightly be
// told of their grants in any order. What a semaphore that queues promises is that only the head of the queue takes
// leases, even where the head asks for more permits than are free and the next waiter does not. So a grant is out of
// order if, when one of its leases was created, the head of the queue was the znode of another session. The servers
// put both on record in the same order, so no fault and no clock can make that appear.
func (d *digest) permitOrder(lock string, grants []*history.Acquisition) (o permitOrder) {
	queue, ok := d.servers.Layout.Queue(lock)
	if !ok {
		return o
	}
	var lane *nodes.Lane
	passed := map[*nodes.Life]int64{}
	for _, a := range grants {
		w := d.servers.proof(a)
		if a.Mode != history.ModePermit || w.answer != nodes.Witnessed {
			continue
		}
		if lane == nil {
			lane = d.servers.History.Lane(queue, nodes.First)
		}
		o.judged++
		for _, lease := range w.spans {
			head := headBefore(lane, lease.Czxid)
			if head == nil || head.Owner == lease.Owner {
				continue
			}
			o.count++
			passed[head.Life]++
			o.worst = max(o.worst, passed[head.Life])
			if len(o.findings) < maxFindings {
				o.findings = append(o.findings, d.passed(a, lease, head))
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

func (d *digest) passed(a *history.Acquisition, lease, head *nodes.Span) Finding {
	return Finding{
		Kind: KindInversion, Lock: a.Lock, At: a.Invoked, Until: a.Returned, Cause: CauseNone,
		Clients: []string{a.Client}, Tokens: []int64{a.Token}, Events: d.eventsOf(a),
		Zxids: zxidWords([]int64{head.From, lease.Czxid}),
		Text: fmt.Sprintf("%s got a permit of %s at zxid %s, when the head of the queue was %s of %s, since zxid %s",
			holder(a), a.Lock, Zxid(lease.Czxid), head.Name(), d.whose(head.Owner), Zxid(head.From)),
	}
}
