package txnlog_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"locklab/ensembles/txnlog"
)

// Sessions of the extracted logs: two of the run, and one of somebody else.
const (
	ours, oursToo, theirs = 0x11, 0x12, 0x99
)

func createOf(zxid, session int64, path string, acl ...txnlog.ACL) txnlog.Txn {
	return txnlog.Txn{Zxid: zxid, Session: session, Cxid: 7, Time: 1000 + zxid, Type: txnlog.Create, Ops: []txnlog.Op{
		{Type: txnlog.Create, Path: path, Data: []byte("data of " + path), ACL: acl, ParentCVersion: 1}}}
}

func open(zxid, session int64) txnlog.Txn {
	return txnlog.Txn{Zxid: zxid, Session: session, Time: 1000 + zxid, Type: txnlog.CreateSession, Timeout: time.Second}
}

func closed(zxid, session int64, paths ...string) txnlog.Txn {
	return txnlog.Txn{Zxid: zxid, Session: session, Time: 1000 + zxid, Type: txnlog.CloseSession, Closes: paths}
}

// The part of a log that is about one path has all transactions about it, and nothing of others but their zxids and
// times.
func TestExtraction(t *testing.T) {
	digest := txnlog.ACL{Perms: 31, Scheme: "digest", ID: "lab:c2VjcmV0c2VjcmV0"}
	masked := txnlog.ACL{Perms: 31, Scheme: "digest", ID: strings.Repeat("x", len(digest.ID))}
	blank := func(zxid int64) txnlog.Txn {
		return txnlog.Txn{Zxid: zxid, Time: 1000 + zxid, Type: txnlog.Error, Ops: []txnlog.Op{{Type: txnlog.Error}}}
	}
	multi := func(zxid, session int64, ops ...txnlog.Op) txnlog.Txn {
		return txnlog.Txn{Zxid: zxid, Session: session, Time: 1000 + zxid, Type: txnlog.Multi, Ops: ops}
	}
	remove := func(path string) txnlog.Op { return txnlog.Op{Type: txnlog.Delete, Path: path} }
	refused := txnlog.Op{Type: txnlog.Error, Code: -101}
	world := txnlog.OpenToAll()[0]
	src := fstest.MapFS{
		"log.1": {Data: file(createOf(1, theirs, "/app/run/before", world), createOf(2, ours, "/app/run/too-early", world))},
		"log.3": {Data: file(open(3, ours), open(4, theirs), createOf(5, ours, "/app/run/lock", digest, world),
			createOf(6, theirs, "/app/run-of-another", digest), createOf(7, theirs, "/secret", digest),
			multi(8, ours, remove("/app/run/lock"), remove("/app/run/more")), multi(9, theirs, remove("/secret")),
			multi(10, ours, remove("/app/run/lock"), refused), createOf(11, ours, "/app/run-probe", world),
			open(12, oursToo), closed(13, theirs, "/theirs"))},
		"log.e": {Data: append(file(closed(14, oursToo), createOf(15, oursToo, "/app/run/x", world),
			closed(16, ours, "/app/run/lock")), 0, 0, 0, 1)}, // a record that is being written
		"snapshot.3": {Data: []byte("theirs")},
	}
	x := txnlog.Extraction{Root: "/app/run", After: 2}
	dir := filepath.Join(t.TempDir(), "txnlog")
	n, err := x.Copy(dir, src)
	if err != nil {
		t.Fatal(err)
	}
	own := createOf(5, ours, "/app/run/lock", masked, world)
	want := []txnlog.Txn{open(3, ours), blank(4), own, blank(6), blank(7),
		multi(8, ours, remove("/app/run/lock"), remove("/app/run/more")), blank(9), blank(10), blank(11), open(12, oursToo),
		blank(13), closed(14, oursToo), createOf(15, oursToo, "/app/run/x", world), closed(16, ours, "/app/run/lock")}
	if diff := cmp.Diff(want, logsIn(t, dir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var bytesThere int64
	all := os.DirFS(dir)
	names, err := txnlog.Files(all)
	for _, name := range names {
		b, readErr := os.ReadFile(filepath.Join(dir, name))
		err = errors.Join(err, readErr)
		bytesThere += int64(len(b))
		for _, word := range []string{"secret", "theirs", "another", "c2Vj", "too-early"} {
			if bytes.Contains(b, []byte(word)) {
				t.Errorf("%s has %q", name, word)
			}
		}
	}
	if err != nil || bytesThere != n {
		t.Errorf("%d bytes, of which %d were told: %v", bytesThere, n, err)
	}
	t.Run("up to a transaction", func(t *testing.T) {
		x, dir := x, t.TempDir()
		x.Until = 8
		if _, err := x.Copy(dir, src); err != nil {
			t.Fatal(err)
		}
		if got := logsIn(t, dir); len(got) != 6 || got[5].Zxid != 8 {
			t.Errorf("%v", got)
		}
	})
	t.Run("about both", func(t *testing.T) {
		mixed := fstest.MapFS{"log.3": {Data: file(multi(3, theirs, remove("/app/run/lock"), remove("/secret")))}}
		if _, err := x.Copy(t.TempDir(), mixed); !errors.Is(err, txnlog.ErrMixed) {
			t.Errorf("%v", err)
		}
	})
	t.Run("no logs", func(t *testing.T) {
		if _, err := x.Copy(t.TempDir(), fstest.MapFS{}); !errors.Is(err, txnlog.ErrNoLogs) {
			t.Errorf("%v", err)
		}
	})
}

func logsIn(t *testing.T, dir string) (all []txnlog.Txn) {
	t.Helper()
	for rec, err := range txnlog.ReadDir(os.DirFS(dir), "zk1") {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, rec.Txn)
	}
	return all
}
