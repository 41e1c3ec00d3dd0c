package rundir

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"locklab/ensembles/txnlog"
	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/history"
)

// Two threads of the server wrote the log out of order, as happened to zk1 in a run of slow disks and kills, or one of
// them did not come to write its part, as happened to zk2 in a run of slow disks and restarts. Whether the next start
// revives a deleted znode depends on whether its creation or its deletion comes last in the log.
func TestRevivedByReplay(t *testing.T) {
	const owner = 0x30
	txn := func(zxid int64, kind txnlog.Type, path string) txnlog.Txn {
		return txnlog.Txn{Zxid: zxid, Session: owner, Cxid: 1, Type: kind,
			Ops: []txnlog.Op{{Type: kind, Path: path, Ephemeral: true}}}
	}
	txns := []txnlog.Txn{
		txn(1<<32+1, txnlog.Create, "/l/a"), txn(1<<32+2, txnlog.Delete, "/l/a"),
		txn(1<<32+3, txnlog.Create, "/l/b"), txn(1<<32+4, txnlog.Delete, "/l/b"), txn(1<<32+5, txnlog.Create, "/l/c"),
	}
	h := nodes.Replay(slices.Values(txns))
	start := func(server string) []history.Event {
		return []history.Event{{Op: history.OpProcess, Process: server, Mode: history.Mode(history.ProcessStarted)}}
	}
	restarted := start("zk1")
	for _, c := range []struct {
		name     string
		first    []int // the transactions of the first file, by number
		then     []int // those of the file that the server began at its next start
		snapshot int64 // the last transaction of the snapshot from which it started, by number
		events   []history.Event
		want     []string
	}{
		{"in order", []int{1, 2, 3, 4}, []int{5}, 0, restarted, nil},
		{"created after its deletion", []int{2, 3, 4, 1}, []int{5}, 0, restarted, []string{"/l/a"}},
		{"both", []int{2, 4, 1, 3}, []int{5}, 0, restarted, []string{"/l/a", "/l/b"}},
		{"disordered, but each before its own deletion", []int{3, 1, 2, 4}, []int{5}, 0, restarted, nil},
		{"its deletion once more after it", []int{2, 3, 4, 1, 2}, []int{5}, 0, restarted, nil},
		{"the server fell back and logged all twice", []int{1, 2, 3, 1, 2, 3, 4}, []int{5}, 0, restarted, nil},
		{"the deletion is missing before later ones", []int{1, 3, 4}, []int{5}, 0, restarted, []string{"/l/a"}},
		{"the deletion came with the next file", []int{1}, []int{2, 3, 4, 5}, 0, restarted, nil},
		{"a snapshot brought the deletion", []int{1}, []int{3, 4, 5}, 0, restarted, nil},
		{"a snapshot brought it, and the server kept its file", []int{1, 3, 4}, []int{5}, 2, restarted, nil},
		{"the snapshot is older", []int{1, 3, 4}, []int{5}, 1, restarted, []string{"/l/a"}},
		{"in disorder, but the snapshot has all", []int{2, 3, 4, 1}, []int{5}, 4, restarted, nil},
		{"the znode still exists", []int{5, 1, 2, 3, 4}, []int{5}, 0, restarted, nil},
		{"the server was not started again", []int{2, 3, 4, 1}, []int{5}, 0, nil, nil},
		{"another server was started again", []int{2, 3, 4, 1}, []int{5}, 0, start("zk2"), nil},
		{"in the last file, which was not replayed yet", []int{3}, []int{4, 2, 1}, 0, restarted, nil},
		{"empty", nil, nil, 0, restarted, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var logs []txnlog.Record
			for _, n := range c.first {
				logs = append(logs, txnlog.Record{Txn: txns[n-1], File: "zk1/log.100000001"})
			}
			for _, n := range c.then {
				logs = append(logs, txnlog.Record{Txn: txns[n-1], File: "zk1/log.100000005"})
			}
			snapshot := int64(0)
			if c.snapshot > 0 {
				snapshot = txns[c.snapshot-1].Zxid
			}
			var got []string
			for _, x := range revivedByReplay("zk1", logs, snapshot, h, history.NewLog(c.events)) {
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

// The server's own log says which snapshot it read, once for each of its starts.
func TestLastSnapshot(t *testing.T) {
	for text, want := range map[string]int64{
		"": 0,
		"[myid:2] - INFO [main:FileSnap@85] - Reading snapshot /lab/zookeeper/version-2/snapshot.0\n": 0,
		"Reading snapshot /lab/zookeeper/version-2/snapshot.0\nSnapshotting: 0x100000222 to /lab/snapshot.100000222\n" +
			"Reading snapshot /lab/zookeeper/version-2/snapshot.100000222\nmore\n": 0x100000222,
	} {
		dir := t.TempDir()
		if err := os.MkdirAll(HostDir(dir, "zk2"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, LogPath("zk2")), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := lastSnapshot(dir, "zk2"); got != want {
			t.Errorf("%q: %#x, want %#x", text, got, want)
		}
	}
	if got := lastSnapshot(t.TempDir(), "zk2"); got != 0 {
		t.Errorf("without a log: %#x", got)
	}
}
