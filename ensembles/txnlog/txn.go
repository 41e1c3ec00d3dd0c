package txnlog

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Type is what a transaction or one of its operations does: ZooDefs.OpCode.
type Type int32

// The types that a transaction log may contain.
const (
	Create          Type = 1
	Delete          Type = 2
	SetData         Type = 5
	SetACL          Type = 7
	Check           Type = 13 // only in a Multi
	Multi           Type = 14
	Create2         Type = 15
	Reconfig        Type = 16
	CreateContainer Type = 19
	DeleteContainer Type = 20
	CreateTTL       Type = 21
	CreateSession   Type = -10
	CloseSession    Type = -11
	Error           Type = -1
)

var typeNames = map[Type]string{
	Create: "create", Delete: "delete", SetData: "setData", SetACL: "setACL", Check: "check", Multi: "multi", Create2: "create2",
	Reconfig: "reconfig", CreateContainer: "createContainer", DeleteContainer: "deleteContainer", CreateTTL: "createTtl",
	CreateSession: "createSession", CloseSession: "closeSession", Error: "error",
}

// String is the type's name in ZooKeeper (Request.op2String).
func (t Type) String() string {
	if name, ok := typeNames[t]; ok {
		return name
	}
	return fmt.Sprintf("type %d", int32(t))
}

// Creates reports whether an operation of this type makes a znode.
func (t Type) Creates() bool {
	return t == Create || t == Create2 || t == CreateContainer || t == CreateTTL
}

// Deletes reports whether an operation of this type removes a znode.
func (t Type) Deletes() bool { return t == Delete || t == DeleteContainer }

// A Txn is one transaction.
type Txn struct {
	Zxid int64
	// Session is whose request it was. Of a session that expires it is that
	// session; the server's own reaping of containers has 0.
	Session int64
	// Cxid numbers the session's requests.
	Cxid int32
	// Time is the leader's wall clock when it prepared the transaction, in ms
	// since 1970. It is not in zxid order where leaders' clocks differ.
	Time int64
	Type Type
	// Ops are what it does to znodes: one for most types, several for a Multi, none
	// for sessions. See [Txn.Effects].
	Ops []Op
	// Timeout is the negotiated one of a session that a CreateSession makes.
	Timeout time.Duration
	// Closes is which znodes went with the session that a CloseSession ends. It is
	// nil where the server did not write it (before 3.6): all of the session's then.
	Closes []string
	// Digest is that of the tree after the transaction, if the server wrote it.
	Digest *Digest
}

// Effects are the operations that took effect. Those of a Multi do so together or not at
// all: one that was refused is logged with an Error in the place of the operation that was
// the reason and of those behind it, and with those before it as if they had been done
// (DataTree.processTxn looks for the Error, too). A server that applied it before it wrote its
// log has made those before it Errors as well, but left them their bodies, which are in Data then.
func (t Txn) Effects() []Op {
	if t.refused() {
		return nil
	}
	return t.Ops
}

func (t Txn) refused() bool {
	return slices.ContainsFunc(t.Ops, func(o Op) bool { return o.Type == Error })
}

// A Digest is a TxnDigest: the leader's checksum over its tree.
type Digest struct {
	Version int32
	Tree    int64
}

// An Op is one operation on a znode. Which fields mean something depends on Type.
type Op struct {
	Type Type
	Path string
	// Data is the znode's new content: nil if it has none, which is not the same
	// as an empty one. See [Txn.Effects] for an Error's.
	Data []byte
	ACL  []ACL
	// Ephemeral makes the znode its session's, in a Create and Create2.
	Ephemeral bool
	// ParentCVersion is the parent's count of changes to its children after a create;
	// -1 where it was not written (before 3.4).
	ParentCVersion int32
	// Version is the znode's after a SetData or SetACL, and the one asked for by a Check.
	Version int32
	// TTL is that of a CreateTTL.
	TTL time.Duration
	// Code is why the request was refused, in an Error: KeeperException.Code.
	Code int32
}

// An ACL is one entry of an access control list.
type ACL struct {
	Perms      int32
	Scheme, ID string
}

// Same reports whether two servers' records are of the same transaction. A server
// with digests switched off writes none, and one may write the same refused Multi in the other form
// ([Txn.Effects]): these are no differences.
func (t Txn) Same(u Txn) bool {
	return t.Zxid == u.Zxid && t.Session == u.Session && t.Cxid == u.Cxid && t.Time == u.Time && t.Type == u.Type && t.Timeout == u.Timeout &&
		slices.Equal(t.Closes, u.Closes) && t.refused() == u.refused() && slices.EqualFunc(t.Ops, u.Ops, Op.same) &&
		(t.Digest == nil || u.Digest == nil || *t.Digest == *u.Digest)
}

func (o Op) same(p Op) bool {
	// Of the two forms of what was refused, one does not tell the type. That both were
	// refused has been seen to.
	if o.Type == Error && o.Data != nil || p.Type == Error && p.Data != nil {
		return true
	}
	return o.Type == p.Type && o.Path == p.Path && (o.Data == nil) == (p.Data == nil) && bytes.Equal(o.Data, p.Data) && slices.Equal(o.ACL, p.ACL) &&
		o.Ephemeral == p.Ephemeral && o.ParentCVersion == p.ParentCVersion && o.Version == p.Version && o.TTL == p.TTL && o.Code == p.Code
}

// String is one line for people: ids in hexadecimal, no data.
func (t Txn) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "zxid 0x%x session 0x%x cxid %d %v", uint64(t.Zxid), uint64(t.Session), t.Cxid, t.Type)
	if t.Type == CreateSession {
		fmt.Fprintf(&b, " timeout %v", t.Timeout)
	}
	for i, p := range t.Closes {
		b.WriteString([]string{" closes ", ","}[min(i, 1)] + p)
	}
	for i, o := range t.Ops {
		if t.Type == Multi {
			b.WriteString([]string{" [", ", "}[min(i, 1)] + o.Type.String())
		}
		if o.Type == Error {
			fmt.Fprintf(&b, " code %d", o.Code)
		} else {
			b.WriteString(" " + o.Path)
		}
	}
	if t.Type == Multi {
		b.WriteString("]")
	}
	return b.String()
}
