package txnlog_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"locklab/ensembles/txnlog"
)

// Encode writes what the reader reads back, and the same bytes as the independent writer of the tests.
func TestEncode(t *testing.T) {
	want := []txnlog.Txn{
		{Zxid: 1, Time: 5, Type: txnlog.Create,
			Ops: []txnlog.Op{{Type: txnlog.Create, Path: "/a", ACL: txnlog.OpenToAll(), ParentCVersion: 1}}},
		{Zxid: 2, Session: 7, Cxid: 3, Time: 6, Type: txnlog.Create,
			Ops: []txnlog.Op{{Type: txnlog.Create, Path: "/a/b", Data: []byte("x"), ACL: txnlog.OpenToAll(), Ephemeral: true,
				ParentCVersion: 1<<31 - 5}}},
		{Zxid: 3, Time: 7, Type: txnlog.Delete, Ops: []txnlog.Op{{Type: txnlog.Delete, Path: "/a/b"}}},
	}
	b := txnlog.Encode(want)
	if !bytes.Equal(b, file(want...)) {
		t.Errorf("encoded as\n%x, not as\n%x", b, file(want...))
	}
	var got []txnlog.Txn
	for rec, err := range txnlog.Read(bytes.NewReader(b), "log.1") {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, rec.Txn)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
}
