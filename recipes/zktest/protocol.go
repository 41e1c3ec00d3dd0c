package zktest

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"
)

// A hello is the first request on a connection.
type hello struct {
	seen     int64 // the newest transaction that the client has seen
	timeout  time.Duration
	session  int64 // 0 = a new one
	password []byte
}

func decodeHello(frame []byte) (h hello, err error) {
	d := &decoder{b: frame}
	d.int32() // the protocol's version
	h.seen = d.int64()
	h.timeout = time.Duration(d.int32()) * time.Millisecond
	h.session = d.int64()
	h.password = d.bytes()
	return h, d.err
}

// encodeWelcome answers a hello. A session of nil says that the one asked for is over.
func encodeWelcome(ss *session) []byte {
	e := newFrame()
	e.int32(0)
	if ss == nil {
		e.int32(0)
		e.int64(0)
		e.bytes(make([]byte, 16))
	} else {
		e.int32(int32(ss.timeout.Milliseconds()))
		e.int64(ss.id)
		e.bytes(ss.password)
	}
	return e.frame()
}

// decodeRequest reads a request with its header.
func decodeRequest(frame []byte, session int64) (xid int32, r request, err error) {
	d := &decoder{b: frame}
	xid, r.op, r.session = d.int32(), Op(d.int32()), session
	if r.op == OpMulti {
		err = r.decodeOps(d)
	} else {
		r.decodeBody(d)
	}
	if err = errors.Join(err, d.err); err != nil {
		return 0, request{}, fmt.Errorf("%s: %w", r.op, err)
	}
	return xid, r, nil
}

// decodeBody reads what follows the kind of a request that the service knows.
func (r *request) decodeBody(d *decoder) {
	switch r.op {
	case OpCreate, OpCreate2, OpCreateContainer:
		r.path, r.data, r.acl, r.flags = d.string(), d.bytes(), list(d, d.acl), d.int32()
	case OpDelete, OpCheck:
		r.path, r.version = d.string(), d.int32()
	case OpSetData:
		r.path, r.data, r.version = d.string(), d.bytes(), d.int32()
	case OpSetACL:
		r.path, r.acl, r.version = d.string(), list(d, d.acl), d.int32()
	case OpGetACL, OpSync:
		r.path = d.string()
	case OpExists, OpGetData, OpGetChildren, OpGetChildren2:
		r.path, r.watch = d.string(), d.bool()
	case OpSetWatches:
		r.rewatch = rewatch{d.int64(), list(d, d.string), list(d, d.string), list(d, d.string)}
	case OpAuth:
		d.int32()
		r.scheme, r.auth = d.string(), d.bytes()
	}
}

// decodeOps reads the operations of a multi, each after a header, up to a header that says that it is the last.
func (r *request) decodeOps(d *decoder) error {
	for d.err == nil {
		op, last := Op(d.int32()), d.bool()
		d.int32()
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
	e := newFrame()
	e.int32(xid)
	e.int64(a.zxid)
	e.int32(a.code)
	switch {
	case a.code != codeOK:
	case op == OpMulti:
		e.results(a.results)
	default:
		e.answer(op, a)
	}
	return e.frame()
}

// answer encodes what follows the header of a reply.
func (e *encoder) answer(op Op, a reply) {
	switch op {
	case OpCreate, OpCreateContainer, OpSync:
		e.string(a.path)
	case OpCreate2:
		e.string(a.path)
		e.stat(a.stat)
	case OpExists, OpSetData, OpSetACL:
		e.stat(a.stat)
	case OpGetData:
		e.bytes(a.data)
		e.stat(a.stat)
	case OpGetACL:
		e.int32(int32(len(a.acl)))
		for _, one := range a.acl {
			e.int32(one.Perms)
			e.string(one.Scheme)
			e.string(one.ID)
		}
		e.stat(a.stat)
	case OpGetChildren, OpGetChildren2:
		e.int32(int32(len(a.names)))
		for _, name := range a.names {
			e.string(name)
		}
		if op == OpGetChildren2 {
			e.stat(a.stat)
		}
	}
}

// results encodes those of a multi. If one was refused, each is an error, perhaps with the code 0.
func (e *encoder) results(all []reply) {
	const opError = -1
	failed := false
	for _, r := range all {
		failed = failed || r.code != codeOK
	}
	for _, r := range all {
		if failed {
			e.header(opError, r.code)
			e.int32(r.code)
		} else {
			e.header(r.op, codeOK)
			e.answer(r.op, r)
		}
	}
	e.int32(opError)
	e.bool(true)
	e.int32(opError)
}

// header encodes that of a multi's result.
func (e *encoder) header(op Op, code int32) {
	e.int32(int32(op))
	e.bool(false)
	e.int32(code)
}

// encodeEvent tells of a watch's event.
func encodeEvent(kind zk.EventType, path string) []byte {
	e := newFrame()
	e.int32(-1) // in place of a request's number
	e.int64(-1)
	e.int32(codeOK)
	e.int32(int32(kind))
	e.int32(int32(zk.StateSyncConnected))
	e.string(path)
	return e.frame()
}
