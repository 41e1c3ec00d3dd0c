package zktest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"locklab/recipes/zkproto"
	"locklab/recipes/zksession"
)

// A Node is a znode as an administrator sees it.
type Node struct {
	Data []byte
	// Mode is Persistent, Container or Ephemeral.
	Mode zksession.Mode
	Stat zk.Stat
	// Children are the names of its children, sorted.
	Children []string
	// ACL is the znode's access control list as the service keeps it: with the digests of passwords, and with the
	// identities for which the scheme "auth" stood in the request.
	ACL []zk.ACL
}

// Node returns the znode at a path, as of the newest transaction, if there is one.
func (s *Service) Node(path string) (_ Node, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.tree[path]
	if n == nil {
		return Node{}, false
	}
	view := Node{Data: slices.Clone(n.data), Stat: n.stat(), Children: n.names(), ACL: slices.Clone(n.acl)}
	switch {
	case n.owner == containerOwner:
		view.Mode = zksession.Container
	case n.ephemeral():
		view.Mode = zksession.Ephemeral
	}
	return view, true
}

// Ephemerals returns the paths of all ephemeral znodes, sorted.
func (s *Service) Ephemerals() (paths []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for p, n := range s.tree {
		if n.ephemeral() {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	return paths
}

// Sessions returns the ids of all sessions that live, sorted.
func (s *Service) Sessions() (ids []int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, ss := range s.sessions {
		if !ss.over {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// DataWatchers returns the sessions that watch for changes of a znode, or for its creation, sorted.
func (s *Service) DataWatchers(path string) []int64 {
	return s.watchers(path, func(m *server) watchTable { return m.watches.data })
}

// ChildWatchers returns the sessions that watch a znode's list of children, sorted.
func (s *Service) ChildWatchers(path string) []int64 {
	return s.watchers(path, func(m *server) watchTable { return m.watches.children })
}

func (s *Service) watchers(path string, table func(*server) watchTable) (ids []int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.servers {
		for l := range table(m)[path] {
			ids = append(ids, l.session.id)
		}
	}
	slices.Sort(ids)
	return ids
}

// Watched returns the paths that any session watches, sorted. A path whose data and children are watched is in it
// once.
func (s *Service) Watched() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]struct{}{}
	for _, m := range s.servers {
		for _, table := range []watchTable{m.watches.data, m.watches.children} {
			for p := range table {
				all[p] = struct{}{}
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// An AdminOp is one operation of [Service.Transact].
type AdminOp struct {
	Path string
	Data []byte
	// Owner is the session that a znode to create belongs to; 0 = none, so that it is persistent.
	Owner int64
	// Delete says that the znode is deleted. Otherwise it is created, or its data is set if it exists.
	Delete bool
}

// Transact executes operations as one transaction, with every permission, and returns its number. It returns an error,
// and changes nothing, if one of the operations is impossible.
func (s *Service) Transact(ops ...AdminOp) (zxid int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	requests, exists := make([]request, len(ops)), map[string]bool{}
	for i, op := range ops {
		there, touched := exists[op.Path]
		if !touched {
			there = s.tree[op.Path] != nil
		}
		r := request{op: OpCreate, path: op.Path, data: slices.Clone(op.Data), version: anyVersion, acl: everybody}
		switch {
		case op.Delete:
			r.op = OpDelete
		case there:
			r.op = OpSetData
		case op.Owner != 0:
			r.flags, r.session = zk.FlagEphemeral, op.Owner
		}
		requests[i], exists[op.Path] = r, !op.Delete
	}
	s.zxid++
	for i, result := range s.transact(nil, requests) {
		if result.code != zkproto.CodeOK && result.code != zkproto.CodeInconsistent {
			return 0, fmt.Errorf("transact: %s %s: %w", requests[i].op, requests[i].path, refused[result.code])
		}
	}
	return s.zxid, nil
}

// Put creates a persistent znode, or sets its data if it exists, as an administrator would. It panics if there is no
// parent.
func (s *Service) Put(path string, data []byte) { s.must(AdminOp{Path: path, Data: data}) }

// Remove deletes a znode, as an administrator would. It panics if there is none, or if it has children.
func (s *Service) Remove(path string) { s.must(AdminOp{Path: path, Delete: true}) }

func (s *Service) must(op AdminOp) {
	if _, err := s.Transact(op); err != nil {
		panic("zktest: " + err.Error())
	}
}

// SetCreates makes a znode one below which n children have been created, which is the number of its next sequential
// one. It panics if there is no such znode.
func (s *Service) SetCreates(path string, n int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tree[path].creates = n
}

// ReapContainers deletes the container znodes that have had children and have none, as a server does once a minute,
// and returns how many. A container in another is deleted first, and the other by the next call.
func (s *Service) ReapContainers() (deleted int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ops := s.unused()
	for _, op := range ops {
		s.zxid++
		s.transact(nil, []request{op})
	}
	return len(ops)
}

// unused returns requests to delete the containers that have had children and have none. s.mu is held.
func (s *Service) unused() (ops []request) {
	for p, n := range s.tree {
		if n.owner == containerOwner && n.creates != 0 && len(n.children) == 0 {
			ops = append(ops, request{op: OpDelete, path: p, version: anyVersion})
		}
	}
	slices.SortFunc(ops, func(a, b request) int { return strings.Compare(a.path, b.path) })
	return ops
}
