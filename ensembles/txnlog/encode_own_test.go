package txnlog_test

import (
	"bytes"
	"testing"
	"time"

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
		{Zxid: 3, Session: 8, Time: 6, Type: txnlog.CreateSession, Timeout: 4 * time.Second},
		{Zxid: 4, Session: 8, Cxid: 1, Time: 6, Type: txnlog.Multi, Ops: []txnlog.Op{
			{Type: txnlog.Check, Path: "/a", Version: 2}, {Type: txnlog.SetData, Path: "/a", Data: []byte("y"), Version: 3},
			{Type: txnlog.SetACL, Path: "/a", ACL: txnlog.OpenToAll(), Version: 1},
			{Type: txnlog.Create2, Path: "/a/c", ACL: txnlog.OpenToAll(), Ephemeral: true, ParentCVersion: -1}}},
		{Zxid: 5, Time: 6, Type: txnlog.CreateContainer,
			Ops: []txnlog.Op{{Type: txnlog.CreateContainer, Path: "/d", ACL: txnlog.OpenToAll(), ParentCVersion: -1}}},
		{Zxid: 6, Time: 6, Type: txnlog.DeleteContainer, Ops: []txnlog.Op{{Type: txnlog.DeleteContainer, Path: "/d"}}},
		{Zxid: 7, Session: 8, Cxid: 2, Time: 6, Type: txnlog.Error, Ops: []txnlog.Op{{Type: txnlog.Error, Code: -110}}},
		{Zxid: 8, Session: 8, Cxid: 3, Time: 7, Type: txnlog.CloseSession, Closes: []string{"/a/c"}},
		{Zxid: 9, Session: 7, Time: 7, Type: txnlog.CloseSession, Closes: []string{}},
		{Zxid: 10, Time: 7, Type: txnlog.Delete, Ops: []txnlog.Op{{Type: txnlog.Delete, Path: "/a/b"}}},
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
