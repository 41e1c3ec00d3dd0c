package check

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"locklab/ensembles/txnlog"
	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
)

// logOf draws transactions by which the servers can have granted what the clients of a valid run were told: the znode
// of each grant is created during its call, in the order of the grants, and deleted as its release is called. The
// run's tokens become those of the znodes.
func logOf(events []history.Event) ([]history.Event, []*txnlog.Txn) {
	acquisitions := history.Acquisitions(history.NewLog(events))
	slices.SortFunc(acquisitions, func(a, b history.Acquisition) int { return cmp.Compare(a.Returned, b.Returned) })
	var txns []*txnlog.Txn
	create := map[int64]*txnlog.Txn{} // by acquisition
	last := int64(0)
	for i := range acquisitions {
		a := &acquisitions[i]
		last = max(last, a.Invoked)
		path := fmt.Sprintf("l1/_c_%032d-lock-%010d", a.N, i)
		c := &txnlog.Txn{
			Session: int64(a.Session),
			Cxid:    1,
			Time:    last,
			Type:    txnlog.Create2,
			Ops:     []txnlog.Op{{Type: txnlog.Create2, Path: path, Ephemeral: true}},
		}
		create[a.N] = c
		txns = append(
			txns,
			c,
			&txnlog.Txn{
				Session: int64(a.Session),
				Cxid:    2,
				Time:    a.ReleaseInvoked,
				Type:    txnlog.Delete,
				Ops:     []txnlog.Op{{Type: txnlog.Delete, Path: path}},
			},
		)
	}
	number(txns)
	events = slices.Clone(events)
	for i := range events {
		if c := create[events[i].Acq]; c != nil && events[i].Token != 0 {
			events[i].Token = c.Zxid
		}
	}
	events = append(events, history.Event{Process: "harness", Op: history.OpClock})
	return events, txns
}

// number puts transactions, whose times are still in ns, in the order of their times, and numbers them.
func number(txns []*txnlog.Txn) {
	slices.SortStableFunc(txns, func(a, b *txnlog.Txn) int { return cmp.Compare(a.Time, b.Time) })
	for i, t := range txns {
		t.Zxid = int64(i) + 1
	}
}

func judgeLog(events []history.Event, facts evidence.Facts, txns []*txnlog.Txn) Report {
	facts.Servers = &evidence.ServerLog{
		Layout:  nodes.LayoutQueue,
		Servers: []string{"zk1"},
		History: nodes.Replay(func(yield func(txnlog.Txn) bool) {
			for _, t := range txns {
				txn := *t
				txn.Time /= ms
				if !yield(txn) {
					return
				}
			}
		}),
	}
	return Run(history.NewLog(events), facts)
}

func TestServersOfValidRunsPass(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events, facts := validRun(t)
		events, txns := logOf(events)
		if r := judgeLog(events, facts, txns); r.Verdict != evidence.Pass ||
			r.Check(evidence.ServiceExclusion).Result != evidence.Pass {
			t.Fatalf("verdict %s:\n%s\n%s", r.Verdict, describeReport(&r), describeVerdict(r.Check(evidence.ServiceExclusion),
				true))
		}
	})
}

// The check notices one changed transaction.
func TestServersOfInvalidRunsFail(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events, facts := validRun(t)
		events, txns := logOf(events)
		kind := txnlog.Create2
		mutation := rapid.SampledFrom([]string{"no create", "another's", "gone before", "predecessor stays"}).
			Draw(t, "mutation")
		if mutation == "gone before" || mutation == "predecessor stays" {
			kind = txnlog.Delete
		}
		var of []int
		for i, txn := range txns {
			if txn.Type == kind {
				of = append(of, i)
			}
		}
		if mutation == "predecessor stays" {
			of = of[:len(of)-1] // the last has nobody behind it
		}
		i := rapid.SampledFrom(of).Draw(t, "which")
		txn := txns[i]
		switch mutation {
		case "no create":
			txns = slices.Delete(txns, i, i+1)
		case "another's":
			txn.Session += 1000
		case "predecessor stays":
			txns = slices.Delete(txns, i, i+1)
		case "gone before": // it could be eligible: in the transaction that created it
			c := slices.IndexFunc(txns,
				func(o *txnlog.Txn) bool { return o.Type == txnlog.Create2 && o.Ops[0].Path == txn.Ops[0].Path })
			txns[c].Ops = append(txns[c].Ops, txnlog.Op{Type: txnlog.Delete, Path: txn.Ops[0].Path})
			txns[c].Type = txnlog.Multi
			txns = slices.Delete(txns, i, i+1)
		}
		r := judgeLog(events, facts, txns)
		if v := r.Check(evidence.ServiceExclusion); v.Result != evidence.Fail || v.Count < 1 || !v.Violation {
			t.Fatalf("%s of %v: %s", mutation, txn, describeVerdict(v, true))
		}
	})
}
