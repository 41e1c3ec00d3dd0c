package zktest

import (
	"fmt"
	"path"
	"strings"

	"github.com/go-zookeeper/zk"

	"locklab/recipes/zkproto"
)

// write carries out a write as a transaction: all of its operations, each of which sees those before it, or none. As
// in the server, a write that is refused takes a transaction's number too. s.mu is held.
func (s *Service) write(l *link, r *request) reply {
	l.server.catchUp() // the server answers a write once it has carried out all up to it
	ops := r.ops
	if r.op != OpMulti {
		ops = []request{*r}
	}
	s.zxid++
	results := s.transact(l, ops)
	if r.op == OpMulti {
		return reply{zxid: s.zxid, results: results}
	}
	results[0].zxid = s.zxid
	return results[0]
}

// transact executes operations as the present transaction. s.mu is held. A link of nil may do everything.
func (s *Service) transact(l *link, ops []request) (results []reply) {
	var changes []change
	var undo []func()
	results = make([]reply, len(ops))
	for i := range ops {
		c, answer := s.prepare(l, &ops[i])
		if answer.code != zkproto.CodeOK {
			for j := len(undo) - 1; j >= 0; j-- {
				undo[j]()
			}
			for j := range results {
				results[j] = reply{code: zkproto.CodeInconsistent}
				if j < i {
					results[j].code = zkproto.CodeOK
				}
			}
			results[i] = reply{code: answer.code}
			return results
		}
		if c != nil {
			undo = append(undo, s.apply(c))
			changes = append(changes, *c)
			if n := s.tree[c.path]; n != nil {
				answer.stat = n.stat()
			}
		}
		answer.op = ops[i].op
		results[i] = answer
	}
	s.commit(changes)
	return results
}

// prepare validates an operation, in the server's order of tests, which decides what a client is told. It returns the
// change that the operation makes, or nil if it makes none.
func (s *Service) prepare(l *link, r *request) (*change, reply) {
	refused := func(code int32) (*change, reply) { return nil, reply{code: code} }
	if r.op == OpCreate || r.op == OpCreate2 || r.op == OpCreateContainer {
		c, code := s.prepareCreate(l, r)
		if code != zkproto.CodeOK {
			return refused(code)
		}
		return c, reply{path: c.path}
	}
	c := change{path: r.path, zxid: s.zxid, time: s.now(), data: r.data}
	code := zkproto.CodeOK
	switch r.op {
	case OpDelete:
		c.kind = deleted
		code = s.checkDelete(l, r)
	case OpSetData:
		c.kind = dataSet
		code = s.check(l, r, zk.PermWrite, func(n *node) int32 { return n.version })
	case OpSetACL:
		c.kind = aclSet
		if c.acl, code = l.resolve(r.acl); code == zkproto.CodeOK {
			code = s.check(l, r, zk.PermAdmin, func(n *node) int32 { return n.aversion })
		}
	case OpCheck:
		return nil, reply{code: s.check(l, r, zk.PermRead, func(n *node) int32 { return n.version })}
	default:
		code = zkproto.CodeUnimplemented
	}
	if code != zkproto.CodeOK {
		return refused(code)
	}
	return &c, reply{}
}

// check returns why an operation that leaves its znode where it is must be refused.
func (s *Service) check(l *link, r *request, permission int32, version func(*node) int32) (code int32) {
	n := s.tree[r.path]
	switch {
	case n == nil:
		return zkproto.CodeNoNode
	case !l.may(n.acl, permission):
		return zkproto.CodeNoAuth
	case r.version != anyVersion && r.version != version(n):
		return zkproto.CodeBadVersion
	}
	return zkproto.CodeOK
}

// anyVersion is what a request names that is for every version.
const anyVersion = -1

// checkDelete returns why a delete must be refused. The permission is the parent's to give.
func (s *Service) checkDelete(l *link, r *request) (code int32) {
	if r.path == "/" || !valid(r.path, false) {
		return zkproto.CodeBadArguments
	}
	parent, n := s.tree[path.Dir(r.path)], s.tree[r.path]
	switch {
	case parent == nil:
		return zkproto.CodeNoNode
	case !l.may(parent.acl, zk.PermDelete):
		return zkproto.CodeNoAuth
	case n == nil:
		return zkproto.CodeNoNode
	case r.version != anyVersion && r.version != n.version:
		return zkproto.CodeBadVersion
	case len(n.children) > 0:
		return zkproto.CodeNotEmpty
	}
	return zkproto.CodeOK
}

func (s *Service) prepareCreate(l *link, r *request) (*change, int32) {
	c := change{kind: created, path: r.path, zxid: s.zxid, time: s.now(), data: r.data}
	sequential := false
	switch r.flags {
	case zk.FlagPersistent:
	case zk.FlagSequence:
		sequential = true
	case zk.FlagEphemeralSequential:
		sequential, c.owner = true, r.session
	case zk.FlagEphemeral:
		c.owner = r.session
	case zk.FlagContainer:
		c.owner = containerOwner
	default:
		return nil, zkproto.CodeUnimplemented // TTLs, which servers refuse by default
	}
	if s.cfg.NoContainers && (r.op == OpCreateContainer || c.owner == containerOwner) {
		return nil, zkproto.CodeUnimplemented
	}
	if !valid(r.path, sequential) {
		return nil, zkproto.CodeBadArguments
	}
	acl, code := l.resolve(r.acl)
	if code != zkproto.CodeOK {
		return nil, code
	}
	c.acl = acl
	parent := s.tree[path.Dir(r.path)]
	if sequential {
		parent = s.tree[path.Dir(r.path+"1")] // the path may end with a slash
	}
	switch {
	case parent == nil:
		return nil, zkproto.CodeNoNode
	case !l.may(parent.acl, zk.PermCreate):
		return nil, zkproto.CodeNoAuth
	}
	if sequential {
		c.path = fmt.Sprintf("%s%010d", r.path, parent.creates)
	}
	switch {
	case s.tree[c.path] != nil:
		return nil, zkproto.CodeNodeExists
	case parent.ephemeral():
		return nil, zkproto.CodeEphemeral
	}
	return &c, zkproto.CodeOK
}

// valid reports whether a path is one that a znode may have. That of a sequential znode gets digits at its end.
func valid(p string, sequential bool) bool {
	if sequential {
		p += "1"
	}
	return p == "/" || strings.HasPrefix(p, "/") && path.Clean(p) == p && !strings.ContainsRune(p, 0)
}
