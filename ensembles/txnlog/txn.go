package txnlog

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Type says what a transaction or one of its operations does; see ZooDefs.OpCode.
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
	Create: "create", Delete: "delete", SetData: "setData", SetACL: "setACL", Check: "check", Multi: "multi",
	Create2: "create2", Reconfig: "reconfig", CreateContainer: "createContainer", DeleteContainer: "deleteContainer",
	CreateTTL:     "createTtl",
	CreateSession: "createSession", CloseSession: "closeSession", Error: "error",
}

// String returns the name of the type in ZooKeeper (Request.op2String).
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
	// Session is the session that asked for the transaction. If a session expires, it is that session. If the server
	// removes a container, it is 0.
	Session int64
	// Cxid numbers the session's requests.
	Cxid int32
	// Time is the leader's wall clock when it prepared the transaction, in ms since 1970. The times need not be in
	// zxid order if the clocks of successive leaders differ.
	Time int64
	Type Type
	// Ops are the operations on znodes: one for most types, several for a Multi, none for sessions. See
	// [Txn.Effects].
	Ops []Op
	// Timeout is the negotiated timeout of the session that a CreateSession makes.
	Timeout time.Duration
	// Closes are the znodes that a CloseSession deletes with the session. It is nil if the server did not write them,
	// as before 3.6; then all of the session's znodes are deleted.
	Closes []string
	// Digest is the digest of the tree after the transaction, if the server wrote it.
	Digest *Digest
}

// Effects returns the operations that took effect. The operations of a Multi take effect together or not at all. In
// the log of a refused Multi, the operation that caused the refusal and all later ones are replaced by Errors, and
// the earlier ones look as if they had been done (DataTree.processTxn looks for the Error, too). If the server
// applied the Multi before it wrote its log, it has made the earlier ones Errors as well. Their bodies are then in
// Data.
func (t Txn) Effects() []Op {
	if t.refused() {
		return nil
	}
	return t.Ops
}

func (t Txn) refused() bool {
	return slices.ContainsFunc(t.Ops, func(o Op) bool { return o.Type == Error })
}

// A Digest is a TxnDigest, the leader's checksum of its tree.
type Digest struct {
	Version int32
	Tree    int64
}

// An Op is one operation on a znode. Its Type decides which fields have a meaning.
type Op struct {
	Type Type
	Path string
	// Data is the znode's new content. Nil means none, which differs from empty content. See [Txn.Effects] for the
	// Data of an Error.
	Data []byte
	ACL  []ACL
	// Ephemeral says that the znode of a Create or Create2 belongs to the session.
	Ephemeral bool
	// ParentCVersion is the parent's count of changes to its children after a create, or -1 if the server did not
	// write it, as before 3.4.
	ParentCVersion int32
	// Version is the znode's version after a SetData or SetACL, and the version that a Check requires.
	Version int32
	// TTL is the time to live of the znode of a CreateTTL.
	TTL time.Duration
	// Code is the reason for which the request was refused, in an Error (KeeperException.Code).
	Code int32
}

// An ACL is one entry of an access control list.
type ACL struct {
	Perms      int32
	Scheme, ID string
}

// Same reports whether two servers' records are of the same transaction. It ignores two differences: a server with
// digests switched off writes no digest, and servers may write a refused Multi in different forms (see
// [Txn.Effects]).
func (t Txn) Same(u Txn) bool {
	return t.Zxid == u.Zxid && t.Session == u.Session && t.Cxid == u.Cxid &&
		t.Time == u.Time && t.Type == u.Type && t.Timeout == u.Timeout &&
		slices.Equal(t.Closes, u.Closes) && t.refused() == u.refused() && slices.EqualFunc(t.Ops, u.Ops, Op.same) &&
		(t.Digest == nil || u.Digest == nil || *t.Digest == *u.Digest)
}

func (o Op) same(p Op) bool {
	// One of the two forms of a refused operation does not contain its type. The caller has checked that both Multis
	// were refused.
	if o.Type == Error && o.Data != nil || p.Type == Error && p.Data != nil {
		return true
	}
	return o.Type == p.Type && o.Path == p.Path && o.Code == p.Code &&
		(o.Data == nil) == (p.Data == nil) && bytes.Equal(o.Data, p.Data) && slices.Equal(o.ACL, p.ACL) &&
		o.Ephemeral == p.Ephemeral && o.ParentCVersion == p.ParentCVersion && o.Version == p.Version && o.TTL == p.TTL
}

// String describes the transaction in one line, with ids in hexadecimal and without data.
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
