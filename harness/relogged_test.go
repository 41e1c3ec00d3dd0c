package harness

import (
	"slices"
	"testing"

	"locklab/ensembles/txnlog"
	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/history"
)

// A log whose records a second thread of the server wrote out of order, as zk1's was in a run of slow disks and kills: whether
// its next start gives a deleted znode back depends on which of the two comes last.
func TestRelogged(t *testing.T) {
	const owner = 0x30
	txn := func(zxid int64, kind txnlog.Type, path string) txnlog.Txn {
		return txnlog.Txn{Zxid: zxid, Session: owner, Cxid: 1, Type: kind, Ops: []txnlog.Op{{Type: kind, Path: path, Ephemeral: true}}}
	}
	txns := []txnlog.Txn{
		txn(1<<32+1, txnlog.Create, "/l/a"), txn(1<<32+2, txnlog.Delete, "/l/a"),
		txn(1<<32+3, txnlog.Create, "/l/b"), txn(1<<32+4, txnlog.Delete, "/l/b"), txn(1<<32+5, txnlog.Create, "/l/c"),
	}
	h := nodes.Replay(slices.Values(txns))
	again := []history.Event{{Op: history.OpProcess, Process: "zk1", Mode: history.ProcessStarted}}
	for _, c := range []struct {
		name   string
		first  []int // of the first file, by number
		then   []int // of the one that it began when it started anew
		events []history.Event
		want   []string
	}{
		{"in order", []int{1, 2, 3, 4}, []int{5}, again, nil},
		{"created behind its deletion", []int{2, 3, 4, 1}, []int{5}, again, []string{"/l/a"}},
		{"both", []int{2, 4, 1, 3}, []int{5}, again, []string{"/l/a", "/l/b"}},
		{"disordered, but each before its own deletion", []int{3, 1, 2, 4}, []int{5}, again, nil},
		{"its deletion again behind it", []int{2, 3, 4, 1, 2}, []int{5}, again, nil},
		{"fallen back, all twice", []int{1, 2, 3, 1, 2, 3, 4}, []int{5}, again, nil},
		{"its deletion is not in this log", []int{3, 4, 1}, []int{5}, again, nil},
		{"lives still", []int{5, 1, 2, 3, 4}, []int{5}, again, nil},
		{"never started again", []int{2, 3, 4, 1}, []int{5}, nil, nil},
		{"another was started again", []int{2, 3, 4, 1}, []int{5}, []history.Event{{Op: history.OpProcess, Process: "zk2", Mode: history.ProcessStarted}}, nil},
		{"in the last file, not replayed yet", []int{3}, []int{4, 2, 1}, again, nil},
		{"empty", nil, nil, again, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var logs []txnlog.Record
			for _, n := range c.first {
				logs = append(logs, txnlog.Record{Txn: txns[n-1], File: "zk1/log.100000001"})
			}
			for _, n := range c.then {
				logs = append(logs, txnlog.Record{Txn: txns[n-1], File: "zk1/log.100000005"})
			}
			var got []string
			for _, x := range relogged(txnlog.Source{Server: "zk1", Records: func(yield func(txnlog.Record, error) bool) {
				for _, rec := range logs {
					if !yield(rec, nil) {
						return
					}
				}
			}}, h, c.events) {
				got = append(got, x.Path)
				if x.Server != "zk1" || x.Session != owner || x.Zxid == 0 || x.Text == "" {
					t.Errorf("%+v", x)
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
