package zktest

import (
	"errors"
	"fmt"
	"io"

	"github.com/go-zookeeper/zk"

	"locklab/recipes/zkproto"
)

// maxFrame is the length of the longest request that a server reads, as by ZooKeeper's default.
const maxFrame = 0xfffff

// readFrame reads the body of one frame, or a four-letter word in its place, which is then the error.
func readFrame(r io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	if word, ok := fourLetters(head); ok {
		return nil, word
	}
	return zkproto.ReadBody(r, head, maxFrame)
}

// An encoder writes what follows a header.
type encoder struct{ zkproto.Encoder }

// decodeRequest reads a request with its header.
func decodeRequest(frame []byte, session int64) (xid int32, r request, err error) {
	d := &zkproto.Decoder{B: frame}
	xid, r.op, r.session = d.Int32(), Op(d.Int32()), session
	if r.op == OpMulti {
		err = r.decodeOps(d)
	} else {
		r.decodeBody(d)
	}
	if err = errors.Join(err, d.Err); err != nil {
		return 0, request{}, fmt.Errorf("%s: %w", r.op, err)
	}
	return xid, r, nil
}

// decodeBody reads what follows the kind of a request that the service knows.
func (r *request) decodeBody(d *zkproto.Decoder) {
	switch r.op {
	case OpCreate, OpCreate2, OpCreateContainer:
		r.path, r.data, r.acl, r.flags = d.Text(), d.Bytes(), zkproto.List(d, d.ACL), d.Int32()
	case OpDelete, OpCheck:
		r.path, r.version = d.Text(), d.Int32()
	case OpSetData:
		r.path, r.data, r.version = d.Text(), d.Bytes(), d.Int32()
	case OpSetACL:
		r.path, r.acl, r.version = d.Text(), zkproto.List(d, d.ACL), d.Int32()
	case OpGetACL, OpSync:
		r.path = d.Text()
	case OpExists, OpGetData, OpGetChildren, OpGetChildren2:
		r.path, r.watch = d.Text(), d.Bool()
	case OpSetWatches:
		r.rewatch = rewatch{d.Int64(), zkproto.List(d, d.Text), zkproto.List(d, d.Text), zkproto.List(d, d.Text)}
	case OpAuth:
		d.Int32()
		r.scheme, r.auth = d.Text(), d.Bytes()
	}
}

// decodeOps reads the operations of a multi, each after a header, up to a header that says that it is the last.
func (r *request) decodeOps(d *zkproto.Decoder) error {
	for d.Err == nil {
		op, last := Op(d.Int32()), d.Bool()
		d.Int32()
		if last {
			break
		}
		one := request{op: op, session: r.session}
		switch op {
		case OpCreate, OpCreate2, OpCreateContainer, OpDelete, OpSetData, OpCheck:
			one.decodeBody(d)
		default:
			return fmt.Errorf("%s is no operation of a transaction", op)
		}
		r.ops = append(r.ops, one)
	}
	return nil
}

// encodeReply answers a request.
func encodeReply(xid int32, op Op, a reply) []byte {
	e := &encoder{}
	e.Int32(xid)
	e.Int64(a.zxid)
	e.Int32(a.code)
	switch {
	case a.code != zkproto.CodeOK:
	case op == OpMulti:
		e.results(a.results)
	default:
		e.answer(op, a)
	}
	return zkproto.Frame(e.B)
}

// answer encodes what follows the header of a reply.
func (e *encoder) answer(op Op, a reply) {
	switch op {
	case OpCreate, OpCreateContainer, OpSync:
		e.Text(a.path)
	case OpCreate2:
		e.Text(a.path)
		e.Stat(a.stat)
	case OpExists, OpSetData, OpSetACL:
		e.Stat(a.stat)
	case OpGetData:
		e.Bytes(a.data)
		e.Stat(a.stat)
	case OpGetACL:
		e.ACL(a.acl).Stat(a.stat)
	case OpGetChildren, OpGetChildren2:
		e.Int32(int32(len(a.names)))
		for _, name := range a.names {
			e.Text(name)
		}
		if op == OpGetChildren2 {
			e.Stat(a.stat)
		}
	}
}

// results encodes those of a multi. If one was refused, each is an error, perhaps with the code 0.
func (e *encoder) results(all []reply) {
	const opError = -1
	failed := false
	for _, r := range all {
		failed = failed || r.code != zkproto.CodeOK
	}
	for _, r := range all {
		if failed {
			e.header(opError, r.code)
			e.Int32(r.code)
		} else {
			e.header(r.op, zkproto.CodeOK)
			e.answer(r.op, r)
		}
	}
	e.Int32(opError)
	e.Bool(true)
	e.Int32(opError)
}

// header encodes that of a multi's result.
func (e *encoder) header(op Op, code int32) {
	e.Int32(int32(op))
	e.Bool(false)
	e.Int32(code)
}

// encodeEvent tells of a watch's event. Zxid is the transaction that it is of, as servers tell since version 3.9, or
// untold.
func encodeEvent(kind zk.EventType, path string, zxid int64) []byte {
	e := &encoder{}
	e.Int32(zkproto.EventXid)
	e.Int64(zxid)
	e.Int32(zkproto.CodeOK)
	e.Int32(int32(kind))
	e.Int32(int32(zk.StateSyncConnected))
	e.Text(path)
	return zkproto.Frame(e.B)
}
