package rundir

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"locklab/ensembles/txnlog"
	"locklab/harness/history"
	"locklab/harness/scenario"
)

// Two followers logged the tail of an epoch that they had not acknowledged, and the leader that had proposed it was
// made to cut it off, or kept it as well. In the next epoch a client creates the znode whose creation was part of the
// tail, and gets its lock by it. That proves that the tail was never carried out. Without such a proof, the server that
// lacks the tail may as well have been given a snapshot; and if a client was granted a lock by a transaction of the
// tail, the servers contradict themselves.
func TestPassedOver(t *testing.T) {
	sc, err := scenario.Load("test.yaml", []byte("servers: 3"))
	if err != nil {
		t.Fatal(err)
	}
	txn := func(zxid int64, kind txnlog.Type, path string) txnlog.Txn {
		return txnlog.Txn{Session: 7, Cxid: 1, Zxid: zxid, Time: zxid & 0xffff, Type: kind,
			Ops: []txnlog.Op{{Type: kind, Path: path, Ephemeral: zxid != 0x11}}}
	}
	const second = nextEpoch
	begin := []txnlog.Txn{
		txn(0x11, txnlog.Create, "/run1/lock0"),
		txn(0x12, txnlog.Create, "/run1/lock0/a-lock-0000000000"),
	}
	tail := []txnlog.Txn{
		txn(0x13, txnlog.Delete, "/run1/lock0/a-lock-0000000000"),
		txn(0x14, txnlog.Create, "/run1/lock0/b-lock-0000000001"),
	}
	again := []txnlog.Txn{
		txn(second+1, txnlog.Delete, "/run1/lock0/a-lock-0000000000"),
		txn(second+2, txnlog.Create, "/run1/lock0/b-lock-0000000001"),
	}
	other := []txnlog.Txn{txn(second+1, txnlog.Delete, "/run1/lock0/b-lock-0000000001")}
	for _, c := range []struct {
		name           string
		after          []txnlog.Txn
		granted        int64
		remarks        int
		contradictions int
		creation       int64 // of b, in the history
		third          []txnlog.Txn
	}{
		{"the next epoch does all of it again", again, second + 2, 1, 0, second + 2, nil},
		{"the next epoch goes on behind it", other, 0x14, 0, 0, 0x14, nil},
		{"a client was granted a lock by it", again, 0x14, 0, 2, 0x14, nil},
		{"all logged it, and the next epoch does it again", again, second + 2, 1, 0, second + 2, tail},
		{"all logged it, and the next epoch goes on behind it", other, 0x14, 0, 0, 0x14, tail},
		{"all logged it, and a client was granted a lock by it", again, 0x14, 0, 2, 0x14, tail},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for i, logs := range [][][]txnlog.Txn{{begin, tail, c.after}, {begin, tail, c.after}, {begin, c.third, c.after}} {
				var all []txnlog.Txn
				for _, part := range logs {
					all = append(all, part...)
				}
				at := TxnLogDir(dir, fmt.Sprintf("zk%d", i+1))
				if err := os.MkdirAll(at, 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(at, "log.11"), txnlog.Encode(all), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			log := readServerLog(dir, sc, history.NewLog([]history.Event{{Op: history.OpAcquire, Kind: history.OK,
				Process: "c1", Client: "c1/0", Acq: 1, Lock: "/run1/lock0", Session: 7, Token: c.granted}}))
			if log == nil || log.Missing != "" {
				t.Fatalf("read %+v", log)
			}
			if len(log.Remarks) != c.remarks || len(log.Contradictions) != c.contradictions {
				t.Errorf("remarks %q, contradictions %+v", log.Remarks, log.Contradictions)
			}
			for _, r := range log.Remarks {
				want := "zk1 and zk2, a majority, logged 2 transactions at the end of an epoch (zxid 0x13 to 0x14) that zk3 lacks"
				if c.third != nil {
					want = "zk1 and zk2 and zk3, a majority, logged 2 transactions at the end of an epoch (zxid 0x13 to 0x14) " +
						"that contradict the next epoch"
				}
				if !strings.HasPrefix(r, want) {
					t.Errorf("remark %q, want %q first", r, want)
				}
			}
			for _, l := range log.History.Lives {
				if strings.HasPrefix(l.Name(), "b-") && l.Czxid != c.creation {
					t.Errorf("%s was created by zxid %#x, want %#x", l.Path, l.Czxid, c.creation)
				}
			}
		})
	}
}
