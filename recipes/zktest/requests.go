package zktest

import (
	"fmt"

	"github.com/go-zookeeper/zk"
)

// Op is the kind of a request, with the protocol's code.
type Op int32

// The requests that a service knows.
const (
	OpCreate          Op = 1
	OpDelete          Op = 2
	OpExists          Op = 3
	OpGetData         Op = 4
	OpSetData         Op = 5
	OpGetACL          Op = 6
	OpSetACL          Op = 7
	OpGetChildren     Op = 8 // without a Stat; no client of today sends it
	OpSync            Op = 9
	OpPing            Op = 11
	OpGetChildren2    Op = 12
	OpCheck           Op = 13
	OpMulti           Op = 14
	OpCreate2         Op = 15 // create, answered with a Stat: what the locks' contenders send
	OpCreateContainer Op = 19
	OpAuth            Op = 100
	OpSetWatches      Op = 101
	OpClose           Op = -11
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

// The protocol's codes of errors.
const (
	codeOK             = 0
	codeInconsistent   = -2 // an operation of a multi that was not tried, because an earlier one was refused
	codeUnimplemented  = -6
	codeBadArguments   = -8
	codeNoNode         = -101
	codeNoAuth         = -102
	codeBadVersion     = -103
	codeEphemeral      = -108 // it may not have children
	codeNodeExists     = -110
	codeNotEmpty       = -111
	codeSessionExpired = -112
	codeInvalidACL     = -114
	codeAuthFailed     = -115
)

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
		return reply{code: codeUnimplemented}
	}
	n := m.view()[r.path]
	if n == nil {
		if r.op == OpExists && r.watch {
			m.watches.data.add(r.path, l)
		}
		return reply{code: codeNoNode}
	}
	if need := readPermission(r.op); need != 0 && !l.may(n.acl, need) {
		return reply{code: codeNoAuth}
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

// readPermission returns the permissions of which a read needs one.
func readPermission(op Op) int32 {
	switch op {
	case OpExists:
		return 0
	case OpGetACL:
		return zk.PermRead | zk.PermAdmin
	}
	return zk.PermRead
}
