package txnlog_test

import (
	"encoding/binary"
	"hash/adler32"

	"locklab/ensembles/txnlog"
)

// A jute writes values in jute's binary form, as org.apache.jute.BinaryOutputArchive does.
type jute []byte

func (j *jute) int(v int32)     { *j = binary.BigEndian.AppendUint32(*j, uint32(v)) }
func (j *jute) long(v int64)    { *j = binary.BigEndian.AppendUint64(*j, uint64(v)) }
func (j *jute) string(s string) { j.buffer([]byte(s)) }

func (j *jute) buffer(b []byte) {
	if b == nil {
		j.int(-1)
		return
	}
	j.int(int32(len(b)))
	*j = append(*j, b...)
}

func (j *jute) bool(v bool) {
	b := byte(0)
	if v {
		b = 1
	}
	*j = append(*j, b)
}

func (j *jute) acl(list []txnlog.ACL) {
	if list == nil {
		j.int(-1)
		return
	}
	j.int(int32(len(list)))
	for _, a := range list {
		j.int(a.Perms)
		j.string(a.Scheme)
		j.string(a.ID)
	}
}

// body writes an operation according to the records in zookeeper.jute.
func (j *jute) body(o txnlog.Op) {
	switch o.Type {
	case txnlog.Create, txnlog.Create2:
		j.string(o.Path)
		j.buffer(o.Data)
		j.acl(o.ACL)
		j.bool(o.Ephemeral)
		j.int(o.ParentCVersion)
	case txnlog.CreateContainer, txnlog.CreateTTL:
		j.string(o.Path)
		j.buffer(o.Data)
		j.acl(o.ACL)
		j.int(o.ParentCVersion)
		if o.Type == txnlog.CreateTTL {
			j.long(o.TTL.Milliseconds())
		}
	case txnlog.Delete, txnlog.DeleteContainer:
		j.string(o.Path)
	case txnlog.SetData, txnlog.Reconfig:
		j.string(o.Path)
		j.buffer(o.Data)
		j.int(o.Version)
	case txnlog.SetACL:
		j.string(o.Path)
		j.acl(o.ACL)
		j.int(o.Version)
	case txnlog.Check:
		j.string(o.Path)
		j.int(o.Version)
	case txnlog.Error:
		if o.Data != nil {
			*j = append(*j, o.Data...)
			return
		}
		j.int(o.Code)
	}
}

// payload encodes a transaction without the frame that surrounds it in a file.
func payload(t txnlog.Txn) []byte {
	var j jute
	j.long(t.Session)
	j.int(t.Cxid)
	j.long(t.Zxid)
	j.long(t.Time)
	j.int(int32(t.Type))
	switch t.Type {
	case txnlog.CreateSession:
		j.int(int32(t.Timeout.Milliseconds()))
	case txnlog.CloseSession:
		if t.Closes != nil {
			j.int(int32(len(t.Closes)))
			for _, p := range t.Closes {
				j.string(p)
			}
		}
	case txnlog.Multi:
		j.int(int32(len(t.Ops)))
		for _, o := range t.Ops {
			var sub jute
			sub.body(o)
			j.int(int32(o.Type))
			j.buffer(sub)
		}
	default:
		j.body(t.Ops[0])
	}
	if t.Digest != nil {
		j.int(t.Digest.Version)
		j.long(t.Digest.Tree)
	}
	return j
}

// record frames a payload.
func record(payload []byte) []byte {
	var j jute
	j.long(int64(adler32.Checksum(payload)))
	j.buffer(payload)
	return append(j, 'B')
}

// header returns the header of a file.
func header() []byte { return append([]byte("ZKLG\x00\x00\x00\x02"), make([]byte, 8)...) }

// file returns a log of the transactions without preallocated space.
func file(txns ...txnlog.Txn) []byte {
	b := header()
	for _, t := range txns {
		b = append(b, record(payload(t))...)
	}
	return b
}
