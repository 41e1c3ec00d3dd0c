package harness

import (
	"fmt"
	"slices"

	"locklab/ensembles/txnlog"
	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/check"
	"locklab/harness/history"
)

// relogged finds the znodes that a server has again after a start though they were deleted: its log has their
// creation behind their deletion, and is replayed in the order of the log.
//
// ZooKeeper before 3.9.3 writes such logs (ZOOKEEPER-4541, -4712): a follower whose disk stands still is dropped, joins
// anew within the same process, and writes on with a second thread while the first still has transactions to write. A session
// that goes on with its work then has a znode on one server that it has long deleted, and who is connected there waits for it.
func relogged(s txnlog.Source, h *nodes.History, events []history.Event) []check.Contradiction {
	started := slices.ContainsFunc(events, func(e history.Event) bool {
		return e.Op == history.OpProcess && e.Process == s.Server && e.Mode == history.ProcessStarted
	})
	if !started {
		return nil // what it has in memory is in order
	}
	logs := recordsOf(s)
	if len(logs) == 0 {
		return nil
	}
	var found []check.Contradiction
	last := logs[len(logs)-1].File // which it began when it was last started, or later
	position := map[int64]int{}    // the last of each: a server that fell back may have logged it twice
	for i, rec := range logs {
		position[rec.Zxid] = i
	}
	var highest int64
	for at, rec := range logs {
		if rec.Zxid >= highest || rec.File == last {
			highest = max(highest, rec.Zxid)
			continue
		}
		for _, o := range rec.Effects() {
			l := h.At(o.Path, rec.Zxid)
			if l == nil || l.Czxid != rec.Zxid || l.End == nil {
				continue
			}
			if deleted, logged := position[l.End.Zxid]; !logged || deleted > at || position[rec.Zxid] != at {
				continue
			}
			found = append(found, check.Contradiction{Server: s.Server, Session: history.SessionID(l.Owner), Path: l.Path, Zxid: l.End.Zxid,
				Text: fmt.Sprintf("server %s logged the creation of %s (zxid %s) behind its deletion (zxid %s), in %s, and was started since: it had the znode again (as in ZOOKEEPER-4541)",
					s.Server, l.Path, check.Zxid(l.Czxid), check.Zxid(l.End.Zxid), rec.File)})
		}
	}
	return found
}

// recordsOf are a server's transactions as it logged them, as far as they can be read.
func recordsOf(s txnlog.Source) []txnlog.Record {
	var all []txnlog.Record
	for rec, err := range s.Records {
		if err == nil {
			all = append(all, rec)
		}
	}
	return all
}
