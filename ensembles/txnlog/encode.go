package txnlog

import (
	"encoding/binary"
	"fmt"
	"hash/adler32"
)

// Encode returns a log of the transactions as a server would have written it, without preallocated space. It panics on
// those that no test and no simulation has: reconfigurations, znodes with a time to live, and digests.
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
	switch t.Type {
	case CreateSession:
		return binary.BigEndian.AppendUint32(b, uint32(t.Timeout.Milliseconds()))
	case CloseSession:
		if t.Closes != nil {
			b = binary.BigEndian.AppendUint32(b, uint32(len(t.Closes)))
		}
		for _, path := range t.Closes {
			b = appendBuffer(b, []byte(path))
		}
		return b
	case Multi:
		b = binary.BigEndian.AppendUint32(b, uint32(len(t.Ops)))
		for _, o := range t.Ops {
			b = appendBuffer(binary.BigEndian.AppendUint32(b, uint32(o.Type)), appendOp(nil, o))
		}
		return b
	}
	return appendOp(b, t.Ops[0])
}

// appendOp appends the body of an operation; see [juteReader.op].
func appendOp(b []byte, o Op) []byte {
	if o.Type == Error {
		return binary.BigEndian.AppendUint32(b, uint32(o.Code))
	}
	b = appendBuffer(b, []byte(o.Path))
	switch o.Type {
	case Delete, DeleteContainer:
		return b
	case SetData:
		return binary.BigEndian.AppendUint32(appendBuffer(b, o.Data), uint32(o.Version))
	case SetACL:
		return binary.BigEndian.AppendUint32(appendACL(b, o.ACL), uint32(o.Version))
	case Check:
		return binary.BigEndian.AppendUint32(b, uint32(o.Version))
	case Create, Create2, CreateContainer:
		b = appendACL(appendBuffer(b, o.Data), o.ACL)
		if o.Type != CreateContainer {
			ephemeral := byte(0)
			if o.Ephemeral {
				ephemeral = 1
			}
			b = append(b, ephemeral)
		}
		return binary.BigEndian.AppendUint32(b, uint32(o.ParentCVersion))
	}
	panic(fmt.Sprintf("encode an operation of type %v", o.Type))
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
