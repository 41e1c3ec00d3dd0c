package rundir

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"locklab/ensembles/txnlog"
	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
)

// revivedByReplay finds the znodes that a server had again after a start although they had been deleted. A server that
// starts reads its newest snapshot and replays its log, in the order of the log. That revives a znode if the log has
// its creation after its deletion, or if it lacks the deletion and goes on behind it.
//
// ZooKeeper before 3.9.3 writes such logs (ZOOKEEPER-4541, -4712). A follower whose disk stalls is dropped and joins
// again within the same process, where a second thread then writes to the log while the first still has transactions to
// write. If the process ends before the first thread is done, its transactions are lost. A session that goes on working
// then has a znode on one server that it deleted long ago, and clients that are connected to that server wait for it.
//
// The records of the server's log are in its order. What the snapshot had already was not replayed.
func revivedByReplay(
	server string, logs []txnlog.Record, snapshot int64, h *nodes.History, events *history.Log,
) []evidence.Contradiction {
	started := false
	for _, e := range events.Of(history.OpProcess) {
		started = started || e.Process == server && e.ProcessIs(history.ProcessStarted)
	}
	if !started || len(logs) == 0 {
		return nil // it never replayed its log
	}
	last := logs[len(logs)-1].File // begun at the last start or later, so not replayed
	position := map[int64]int{}    // the last of each zxid, since a server that fell back may have logged it twice
	var highest int64              // of those that were replayed
	for i, rec := range logs {
		position[rec.Zxid] = i
		if rec.File != last {
			highest = max(highest, rec.Zxid)
		}
	}
	var found []evidence.Contradiction
	for at, rec := range logs {
		if rec.File == last {
			break
		}
		for _, o := range rec.Effects() {
			l := h.At(o.Path, rec.Zxid)
			if l == nil || l.Czxid != rec.Zxid || l.End == nil || l.End.Zxid <= snapshot || position[rec.Zxid] != at {
				continue
			}
			var how string
			switch deleted, logged := position[l.End.Zxid]; {
			case logged && deleted < at:
				how = fmt.Sprintf("logged the creation of %s (zxid %s) after its deletion (zxid %s) in %s",
					l.Path, evidence.Zxid(l.Czxid), evidence.Zxid(l.End.Zxid), rec.File)
			case !logged && l.End.Zxid < highest:
				how = fmt.Sprintf(
					"logged the creation of %s (zxid %s) in %s, and later transactions, but not its deletion (zxid %s)",
					l.Path, evidence.Zxid(l.Czxid), rec.File, evidence.Zxid(l.End.Zxid))
			default:
				continue
			}
			found = append(found, evidence.Contradiction{Server: server, Session: history.SessionID(l.Owner), Path: l.Path,
				Zxid: l.End.Zxid, Text: fmt.Sprintf(
					"server %s %s and was started afterwards, so it had the znode again (as in ZOOKEEPER-4541)", server, how)})
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

// readingSnapshot is what ZooKeeper 3.5 to 3.9 log when they start from a snapshot (FileSnap.deserialize).
var readingSnapshot = regexp.MustCompile(`Reading snapshot \S*/snapshot\.([0-9a-f]+)`)

// lastSnapshot returns the zxid of the snapshot from which a server started last, by the server's own log; 0 if that
// names none.
func lastSnapshot(dir, server string) int64 {
	text, err := os.ReadFile(filepath.Join(dir, LogPath(server)))
	if err != nil {
		return 0
	}
	all := readingSnapshot.FindAllSubmatch(text, -1)
	if len(all) == 0 {
		return 0
	}
	zxid, err := strconv.ParseInt(string(all[len(all)-1][1]), 16, 64)
	if err != nil {
		return 0
	}
	return zxid
}
