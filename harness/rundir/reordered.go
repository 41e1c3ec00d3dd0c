package rundir

import (
	"fmt"

	"locklab/ensembles/txnlog"
	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/check"
	"locklab/harness/history"
)

// revivedByReplay finds the znodes that a server had again after a start although they had been deleted, because its
// log has their creation after their deletion and is replayed in the order of the log.
//
// ZooKeeper before 3.9.3 writes such logs (ZOOKEEPER-4541, -4712). A follower whose disk stalls is dropped and joins
// again within the same process, where a second thread then writes to the log while the first still has transactions to
// write. A session that goes on working then has a znode on one server that it deleted long ago, and clients that are
// connected to that server wait for it.
//
// The records of the server's log are in its order.
func revivedByReplay(
	server string, logs []txnlog.Record, h *nodes.History, events *history.Log,
) []check.Contradiction {
	started := false
	for _, e := range events.Of(history.OpProcess) {
		started = started || e.Process == server && e.ProcessIs(history.ProcessStarted)
	}
	if !started || len(logs) == 0 {
		return nil // it never replayed its log
	}
	var found []check.Contradiction
	last := logs[len(logs)-1].File // begun at the last start or later, so not replayed
	position := map[int64]int{}    // the last of each zxid, since a server that fell back may have logged it twice
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
			found = append(found, check.Contradiction{Server: server, Session: history.SessionID(l.Owner), Path: l.Path,
				Zxid: l.End.Zxid, Text: fmt.Sprintf("server %s logged the creation of %s (zxid %s) after its deletion (zxid %s) "+
					"in %s and was started afterwards, so it had the znode again (as in ZOOKEEPER-4541)",
					server, l.Path, check.Zxid(l.Czxid), check.Zxid(l.End.Zxid), rec.File)})
		}
	}
	return found
}

// recordsOf returns the transactions of a server in the order of its log, as far as they can be read.
func recordsOf(s txnlog.Source) []txnlog.Record {
	var all []txnlog.Record
	for rec, err := range txnlog.ReadDir(s.Dir, s.Server) {
		if err == nil {
			all = append(all, rec)
		}
	}
	return all
}
