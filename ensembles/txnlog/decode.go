package txnlog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

// digestSize is the size of a TxnDigest in bytes.
const digestSize = 4 + 8

// errorSize is the size of an ErrorTxn in bytes. The body of every other operation is larger.
const errorSize = 4

// digestVersion is the only version of a TxnDigest (DigestCalculator.DIGEST_VERSION).
const digestVersion = 2

// maxTTL is the longest time to live that servers accept, in ms (EphemeralType.TTL).
const maxTTL = 1<<40 - 1

// zxidEnd is where the zxid in a payload ends, which follows the session and the cxid.
const zxidEnd = 8 + 4 + 8

func zxidOf(payload []byte) int64 { return int64(binary.BigEndian.Uint64(payload[zxidEnd-8:])) }

// decode reads a record's payload as SerializeUtils.deserializeTxn does, but requires that it is read to its last
// byte. A rest would mean that the fields before it were misread. The transaction's data share the payload's memory. A
// single operation is put where ops has room for it.
func decode(payload []byte, ops []Op) (Txn, error) {
	r := &juteReader{b: payload}
	t := Txn{Session: r.long(), Cxid: r.int(), Zxid: r.long(), Time: r.long(), Type: Type(r.int())}
	if r.err != nil {
		return t, r.err
	}
	switch t.Type {
	case CreateSession:
		t.Timeout = time.Duration(r.int()) * time.Millisecond
	case CloseSession:
		if hasCloses(r.b) {
			t.Closes = vector(r, 4, r.string)
		}
	case Multi:
		t.Ops = vector(r, 8, func() Op {
			kind, body := Type(r.int()), r.buffer()
			if r.err != nil {
				return Op{}
			}
			if kind == Error && len(body) > errorSize {
				return Op{Type: Error, Data: body}
			}
			in := &juteReader{b: body}
			o := in.op(kind)
			if in.err == nil && len(in.b) > 0 {
				in.err = fmt.Errorf("%d bytes left over", len(in.b))
			}
			if in.err != nil {
				r.err = fmt.Errorf("%v in a multi: %w", kind, in.err)
			}
			return o
		})
	case Check: // exists only within a multi
		return t, fmt.Errorf("%v outside of a multi", t.Type)
	default:
		t.Ops = append(ops[:0], r.op(t.Type))
	}
	if r.err == nil && len(r.b) == digestSize {
		t.Digest = &Digest{Version: r.int(), Tree: r.long()}
	}
	if r.err == nil && len(r.b) > 0 {
		r.err = fmt.Errorf("%v: %d bytes left over", t.Type, len(r.b))
	}
	return t, r.err
}

// hasCloses reports whether the bytes after a closeSession's header begin with a CloseSessionTxn. Servers before 3.6
// write none, and later ones can be configured not to (zookeeper.closeSessionTxn.enabled), so that only a digest
// follows. A list of two empty paths would look the same as a digest, but no path is empty.
func hasCloses(rest []byte) bool {
	if len(rest) == digestSize && binary.BigEndian.Uint32(rest) == digestVersion {
		return false
	}
	return len(rest) > 0
}

// op reads the body of an operation, which is the class of org.apache.zookeeper.txn for its type.
func (r *juteReader) op(kind Type) Op {
	o := Op{Type: kind}
	switch kind {
	case Create, Create2: // CreateTxn
		o.Path, o.Data, o.ACL, o.Ephemeral = r.string(), r.buffer(), r.acl(), r.bool()
		if len(r.b) == 0 && kind == Create { // CreateTxnV0
			o.ParentCVersion = -1
		} else {
			o.ParentCVersion = r.int()
		}
	case CreateContainer: // CreateContainerTxn
		o.Path, o.Data, o.ACL, o.ParentCVersion = r.string(), r.buffer(), r.acl(), r.int()
	case CreateTTL: // CreateTTLTxn
		o.Path, o.Data, o.ACL, o.ParentCVersion = r.string(), r.buffer(), r.acl(), r.int()
		ttl := r.long()
		if ttl < 0 || ttl > maxTTL {
			r.err = fmt.Errorf("a time to live of %d ms", ttl)
		}
		o.TTL = time.Duration(ttl) * time.Millisecond
	case Delete, DeleteContainer: // DeleteTxn
		o.Path = r.string()
	case SetData, Reconfig: // SetDataTxn
		o.Path, o.Data, o.Version = r.string(), r.buffer(), r.int()
	case SetACL: // SetACLTxn
		o.Path, o.ACL, o.Version = r.string(), r.acl(), r.int()
	case Check: // CheckVersionTxn
		o.Path, o.Version = r.string(), r.int()
	case Error: // ErrorTxn
		o.Code = r.int()
	default:
		r.err = fmt.Errorf("a log does not contain %v", kind)
	}
	return o
}

// openToAll is the list that almost every znode has, and how it is written. All of them share it.
var (
	openToAll      = OpenToAll()
	openToAllBytes = appendACL(nil, openToAll)
)

func (r *juteReader) acl() []ACL {
	if r.err == nil && bytes.HasPrefix(r.b, openToAllBytes) {
		r.take(len(openToAllBytes))
		return openToAll
	}
	return vector(r, 12, func() ACL { return ACL{Perms: r.int(), Scheme: r.string(), ID: r.string()} })
}

// A juteReader reads values from a record in jute's binary form (org.apache.jute.BinaryInputArchive). After the first
// error it returns zero values.
type juteReader struct {
	b   []byte
	err error
}

// errShort means that a record ends before its fields do.
var errShort = errors.New("the record is too short for its type")

func (r *juteReader) take(n int) []byte {
	if r.err == nil && n > len(r.b) {
		r.err = errShort
	}
	if r.err != nil {
		return nil
	}
	head := r.b[:n:n]
	r.b = r.b[n:]
	return head
}

func (r *juteReader) int() int32 {
	if b := r.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (r *juteReader) long() int64 {
	if b := r.take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

func (r *juteReader) bool() bool {
	b := r.take(1)
	if b != nil && b[0] > 1 {
		r.err = fmt.Errorf("%d is neither true nor false", b[0])
	}
	return b != nil && b[0] == 1
}

// buffer returns bytes that share the record's memory, or nil for jute's null.
func (r *juteReader) buffer() []byte {
	n := r.int()
	switch {
	case r.err != nil || n == -1:
		return nil
	case n < 0:
		r.err = fmt.Errorf("length %d", n)
		return nil
	}
	return r.take(int(n))
}

func (r *juteReader) string() string { return string(r.buffer()) }

// vector reads the elements of a vector, or returns nil for jute's null. Each element takes at least least bytes, so
// that a wrong count cannot ask for more memory than the record has.
func vector[T any](r *juteReader, least int, element func() T) []T {
	n := r.int()
	if r.err == nil && (n < -1 || int64(n)*int64(least) > int64(len(r.b))) {
		r.err = fmt.Errorf("a vector of %d elements in %d bytes", n, len(r.b))
	}
	if r.err != nil || n == -1 {
		return nil
	}
	all := make([]T, 0, n)
	for range n {
		all = append(all, element())
		if r.err != nil {
			return nil
		}
	}
	return all
}
