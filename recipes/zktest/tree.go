package zktest

import (
	"maps"
	"math"
	"path"
	"slices"

	"github.com/go-zookeeper/zk"
)

// containerOwner is what a server keeps as the owner of a container znode. It does not tell clients.
const containerOwner = math.MinInt64

// A node is a znode. Its data and its list of permissions are never changed in place.
type node struct {
	data     []byte
	acl      []zk.ACL
	children map[string]struct{} // names

	czxid, mzxid, pzxid int64
	ctime, mtime        int64 // ms
	version, aversion   int32
	// creates counts the children ever created, in the server's 32 bits. It numbers sequential znodes.
	creates int32
	owner   int64 // a session, containerOwner, or 0
}

// stat returns what a server tells of the node. The count of changes to the children is that of creates and deletes.
func (n *node) stat() zk.Stat {
	s := zk.Stat{
		Czxid: n.czxid, Mzxid: n.mzxid, Pzxid: n.pzxid, Ctime: n.ctime, Mtime: n.mtime,
		Version: n.version, Aversion: n.aversion, Cversion: 2*n.creates - int32(len(n.children)),
		DataLength: int32(len(n.data)), NumChildren: int32(len(n.children)),
	}
	if n.ephemeral() {
		s.EphemeralOwner = n.owner
	}
	return s
}

// ephemeral reports whether the node ends with a session.
func (n *node) ephemeral() bool { return n.owner != 0 && n.owner != containerOwner }

// A tree is a server's data.
type tree map[string]*node

func newTree() tree {
	return tree{"/": {acl: zk.WorldACL(zk.PermAll), children: map[string]struct{}{}}}
}

func (t tree) clone() tree {
	c := make(tree, len(t))
	for p, n := range t {
		copied := *n
		copied.children = maps.Clone(n.children)
		c[p] = &copied
	}
	return c
}

// A change is one step of a transaction, fully determined, so that every server can carry it out.
type change struct {
	kind changeKind
	path string
	zxid int64
	time int64 // ms
	data []byte
	acl  []zk.ACL
	// owner is the new node's.
	owner int64
	// These say who hears of the change: only a client that may read the znode, or the parent if its list changes.
	nodeACL, parentACL []zk.ACL
}

type changeKind int

const (
	created changeKind = iota
	deleted
	dataSet
	aclSet
)

// apply carries out a change, which must be possible, and returns a function that takes it back.
func (t tree) apply(c change) (undo func()) {
	switch c.kind {
	case created:
		return t.create(c)
	case deleted:
		return t.remove(c)
	}
	n := t[c.path]
	before := *n
	if c.kind == dataSet {
		n.data, n.mzxid, n.mtime, n.version = c.data, c.zxid, c.time, n.version+1
	} else {
		n.acl, n.aversion = c.acl, n.aversion+1
	}
	return func() { *n = before }
}

func (t tree) create(c change) (undo func()) {
	parent, name := t[path.Dir(c.path)], path.Base(c.path)
	creates, pzxid := parent.creates, parent.pzxid
	// As in the server: once the count has overflowed it stays.
	if next := creates + 1; next > creates {
		parent.creates, parent.pzxid = next, c.zxid
	}
	parent.children[name] = struct{}{}
	t[c.path] = &node{
		data: c.data, acl: c.acl, children: map[string]struct{}{}, owner: c.owner,
		czxid: c.zxid, mzxid: c.zxid, pzxid: c.zxid, ctime: c.time, mtime: c.time,
	}
	return func() {
		delete(t, c.path)
		delete(parent.children, name)
		parent.creates, parent.pzxid = creates, pzxid
	}
}

func (t tree) remove(c change) (undo func()) {
	parent, name := t[path.Dir(c.path)], path.Base(c.path)
	n, pzxid := t[c.path], parent.pzxid
	delete(t, c.path)
	delete(parent.children, name)
	parent.pzxid = c.zxid
	return func() {
		t[c.path] = n
		parent.children[name] = struct{}{}
		parent.pzxid = pzxid
	}
}

// names returns the names of a node's children, sorted.
func (n *node) names() []string { return slices.Sorted(maps.Keys(n.children)) }

// owned returns the paths of a session's ephemeral znodes, sorted.
func (t tree) owned(session int64) (paths []string) {
	for p, n := range t {
		if n.owner == session {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	return paths
}
