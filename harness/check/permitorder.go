package check

import (
	"fmt"
	"sort"

	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
)

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
	return evidence.Finding{
		Kind: evidence.KindInversion, Lock: a.Lock, At: a.Invoked, Until: a.Returned, Cause: evidence.CauseNone,
		Clients: []string{a.Client}, Tokens: []int64{a.Token}, Events: d.EventsOf(a),
		Zxids: evidence.ZxidWords([]int64{head.From, lease.Czxid}),
		Text: fmt.Sprintf("%s got a permit of %s at zxid %s, when the head of the queue was %s of %s, since zxid %s",
			evidence.Holder(a), a.Lock, evidence.Zxid(lease.Czxid), head.Name(), d.Whose(head.Owner), evidence.Zxid(head.From)),
	}
}
