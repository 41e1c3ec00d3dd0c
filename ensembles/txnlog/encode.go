package txnlog

import (
	"encoding/binary"
	"fmt"
	"hash/adler32"
)

// Encode returns a log of creates, deletes and errors as a server would have written it, without preallocated space. It
// panics on any other transaction.
func Encode(txns []Txn) []byte {
	b := fileHeader()
	for _, t := range txns {
		b = append(b, record(encode(t))...)
	}
	return b
}

// fileHeader returns the header of a log, with the id that servers write.
func fileHeader() []byte {
	return append(append([]byte(magic), 0, 0, 0, formatVersion), make([]byte, 8)...)
}

func record(payload []byte) []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(adler32.Checksum(payload)))
	return append(appendBuffer(b, payload), endOfRecord)
}

// OpenToAll returns the access control list of a znode that gives everybody every permission.
func OpenToAll() []ACL { return []ACL{{Perms: 31, Scheme: "world", ID: "anyone"}} }

// encode returns a record's payload; see [decode].
func encode(t Txn) []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(t.Session))
	b = binary.BigEndian.AppendUint32(b, uint32(t.Cxid))
	b = binary.BigEndian.AppendUint64(b, uint64(t.Zxid))
	b = binary.BigEndian.AppendUint64(b, uint64(t.Time))
	b = binary.BigEndian.AppendUint32(b, uint32(t.Type))
	o := t.Ops[0]
	if t.Type == Error {
		return binary.BigEndian.AppendUint32(b, uint32(o.Code))
	}
	b = appendBuffer(b, []byte(o.Path))
	switch t.Type {
	case Delete:
		return b
	case Create:
		b = appendACL(appendBuffer(b, o.Data), o.ACL)
		ephemeral := byte(0)
		if o.Ephemeral {
			ephemeral = 1
		}
		return binary.BigEndian.AppendUint32(append(b, ephemeral), uint32(o.ParentCVersion))
	}
	panic(fmt.Sprintf("encode a transaction of type %v", t.Type))
}

func appendACL(b []byte, acl []ACL) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(acl)))
	for _, a := range acl {
		b = binary.BigEndian.AppendUint32(b, uint32(a.Perms))
		b = appendBuffer(appendBuffer(b, []byte(a.Scheme)), []byte(a.ID))
	}
	return b
}

// appendBuffer appends bytes with their length. For nil it appends jute's null.
func appendBuffer(b, data []byte) []byte {
	if data == nil {
		return binary.BigEndian.AppendUint32(b, ^uint32(0))
	}
	return append(binary.BigEndian.AppendUint32(b, uint32(len(data))), data...)
}
