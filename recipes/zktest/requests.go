package zktest

import (
	"fmt"

	"github.com/go-zookeeper/zk"

	"locklab/recipes/zkproto"
)

// Op is the kind of a request, with the protocol's code.
type Op int32

// The requests that a service knows.
const (
	OpCreate          = Op(zkproto.OpCreate)
	OpDelete          = Op(zkproto.OpDelete)
	OpExists          = Op(zkproto.OpExists)
	OpGetData         = Op(zkproto.OpGetData)
	OpSetData         = Op(zkproto.OpSetData)
	OpGetACL          = Op(zkproto.OpGetACL)
	OpSetACL          = Op(zkproto.OpSetACL)
	OpGetChildren     = Op(zkproto.OpGetChildren) // without a Stat; no client of today sends it
	OpSync            = Op(zkproto.OpSync)
	OpPing            = Op(zkproto.OpPing)
	OpGetChildren2    = Op(zkproto.OpGetChildren2)
	OpCheck           = Op(zkproto.OpCheck)
	OpMulti           = Op(zkproto.OpMulti)
	OpCreate2         = Op(zkproto.OpCreate2) // create, answered with a Stat: what the locks' contenders send
	OpCreateContainer = Op(zkproto.OpCreateContainer)
	OpAuth            = Op(zkproto.OpAuth)
	OpSetWatches      = Op(zkproto.OpSetWatches)
	OpClose           = Op(zkproto.OpClose)
)

var opNames = map[Op]string{
	OpCreate: "create", OpDelete: "delete", OpExists: "exists", OpGetData: "getData", OpSetData: "setData",
	OpGetACL: "getACL", OpSetACL: "setACL", OpGetChildren: "getChildren", OpSync: "sync", OpPing: "ping",
	OpGetChildren2: "getChildren2", OpCheck: "check", OpMulti: "multi", OpCreate2: "create2",
	OpCreateContainer: "createContainer", OpAuth: "auth", OpSetWatches: "setWatches", OpClose: "closeSession",
}

func (o Op) String() string {
	if name, ok := opNames[o]; ok {
		return name
	}
	return fmt.Sprintf("op-%d", int32(o))
}

// A request is one request of a client.
type request struct {
	op      Op
	session int64 // the owner of an ephemeral znode to create
	path    string
	data    []byte
	flags   int32 // of a create
	acl     []zk.ACL
	version int32
	watch   bool
	ops     []request // of a multi
	rewatch rewatch
	scheme  string
	auth    []byte
}

// A reply is the answer to a request.
type reply struct {
	op      Op // of a multi's result
	code    int32
	zxid    int64
	path    string
	data    []byte
	stat    zk.Stat
	names   []string
	acl     []zk.ACL
	results []reply // of a multi
}

// execute carries out a request that has arrived at a link. s.mu is held, and the link is not broken.
func (s *Service) execute(l *link, r *request) reply {
	switch r.op {
	case OpCreate, OpCreate2, OpCreateContainer, OpDelete, OpSetData, OpSetACL, OpMulti, OpCheck:
		return s.write(l, r)
	case OpClose:
		return reply{zxid: s.end(l.session)}
	case OpSync:
		l.server.catchUp()
	}
	a := l.server.read(l, r)
	a.zxid = l.server.zxid()
	return a
}

// read answers a request that changes nothing, and leaves a watch if it should.
func (m *server) read(l *link, r *request) reply {
	switch r.op {
	case OpPing, OpSync:
		return reply{path: r.path}
	case OpSetWatches:
		m.again(l, r.rewatch)
		return reply{}
	case OpAuth:
		return reply{code: l.identify(r.scheme, r.auth)}
	case OpExists, OpGetData, OpGetACL, OpGetChildren, OpGetChildren2:
	default:
		return reply{code: zkproto.CodeUnimplemented}
	}
	n := m.view()[r.path]
	if n == nil {
		if r.op == OpExists && r.watch {
			m.watches.data.add(r.path, l)
		}
		return reply{code: zkproto.CodeNoNode}
	}
	if need := m.svc.readPermission(r.op); need != 0 && !l.may(n.acl, need) {
		return reply{code: zkproto.CodeNoAuth}
	}
	a := reply{stat: n.stat()}
	watched := m.watches.data
	switch r.op {
	case OpGetData:
		a.data = n.data
	case OpGetACL:
		a.acl = l.shown(n.acl)
	case OpGetChildren, OpGetChildren2:
		a.names, watched = n.names(), m.watches.children
	}
	if r.watch {
		watched.add(r.path, l)
	}
	return a
}

func (s *Service) readPermission(op Op) int32 {
	switch {
	case op == OpExists && !s.cfg.ExistsNeedsRead:
		return 0
	case op == OpGetACL:
		return zk.PermRead | zk.PermAdmin
	}
	return zk.PermRead
}
