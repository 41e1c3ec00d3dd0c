package txnlog_test

import (
	"time"

	"locklab/ensembles/txnlog"
)

// everyKind returns a transaction of every kind, with every form of the fields.
func everyKind() []txnlog.Txn {
	open := []txnlog.ACL{{Perms: 31, Scheme: "world", ID: "anyone"}, {Perms: 1, Scheme: "digest", ID: "a%:,}"}}
	digest := &txnlog.Digest{Version: 2, Tree: -1 << 60}
	const session = -0x7f00000000000001
	var all []txnlog.Txn
	add := func(kind txnlog.Type, ops ...txnlog.Op) *txnlog.Txn {
		n := int64(len(all))
		all = append(all, txnlog.Txn{Zxid: 1<<32 + n + 1, Session: session, Cxid: int32(n) - 2,
			Time: 1_700_000_000_000 + 61_001*n, Type: kind, Ops: ops, Digest: digest})
		return &all[n]
	}
	one := func(o txnlog.Op) *txnlog.Txn { return add(o.Type, o) }
	add(txnlog.CreateSession).Timeout = 10 * time.Second
	one(txnlog.Op{Type: txnlog.Create, Path: "/a", Data: []byte("data"), ACL: open, ParentCVersion: 1})
	one(txnlog.Op{Type: txnlog.Create2, Path: "/a/ü-0000000001", Data: []byte{}, ACL: open[:1], Ephemeral: true,
		ParentCVersion: -1 << 31})
	one(txnlog.Op{Type: txnlog.CreateContainer, Path: "/c", ACL: open, ParentCVersion: 2})
	one(txnlog.Op{Type: txnlog.CreateTTL, Path: "/t", Data: []byte("\n"), ACL: open[:0], ParentCVersion: 3,
		TTL: time.Minute})
	one(txnlog.Op{Type: txnlog.SetData, Path: "/a", Version: 1})
	one(txnlog.Op{Type: txnlog.SetACL, Path: "/a", ACL: open, Version: 1})
	one(txnlog.Op{Type: txnlog.Reconfig, Path: "/zookeeper/config", Data: []byte("server.1=…"), Version: -1})
	one(txnlog.Op{Type: txnlog.Delete, Path: "/t,%}\r\n"})
	one(txnlog.Op{Type: txnlog.DeleteContainer, Path: "/c"}).Session = 0
	one(txnlog.Op{Type: txnlog.Error, Code: -101})
	add(txnlog.Multi, all[1].Ops[0], all[2].Ops[0], all[3].Ops[0], all[4].Ops[0],
		txnlog.Op{Type: txnlog.Check, Path: "/a", Version: -1}, all[5].Ops[0], all[8].Ops[0])
	add(txnlog.Multi, txnlog.Op{Type: txnlog.Error, Code: 0}, txnlog.Op{Type: txnlog.Error, Code: -101})
	// A refused multi in the form that a server writes before it applies it, and in the form that it writes
	// afterwards.
	var body jute
	body.body(all[8].Ops[0])
	add(txnlog.Multi, all[8].Ops[0], txnlog.Op{Type: txnlog.Error, Code: -101})
	add(txnlog.Multi, txnlog.Op{Type: txnlog.Error, Data: body}, txnlog.Op{Type: txnlog.Error, Code: -101})
	add(txnlog.CloseSession).Closes = []string{"/a/ü-0000000001", "/b"}
	add(txnlog.CloseSession).Closes = []string{}
	one(txnlog.Op{Type: txnlog.Delete, Path: "/a"}).Digest = nil
	return all
}
