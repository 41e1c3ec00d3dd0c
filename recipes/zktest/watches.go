package zktest

import (
	"cmp"
	"maps"
	"path"
	"slices"

	"github.com/go-zookeeper/zk"
)

// untold stands for the transaction of an event that no server tells of: one that is made up after a reconnect.
const untold = -1

// A watchTable has the connections that watch, by path. A connection that watches a path twice gets one event.
type watchTable map[string]map[*link]struct{}

func (w watchTable) add(p string, l *link) {
	if w[p] == nil {
		w[p] = map[*link]struct{}{}
	}
	w[p][l] = struct{}{}
}

// trigger ends the watches on a path, and tells all connections but those in except and those that may not read it by
// the ACL: a server does so since ZooKeeper 3.8.4 (CVE-2024-23944). It returns the connections that watched.
func (w watchTable) trigger(
	p string,
	kind zk.EventType,
	zxid int64,
	acl []zk.ACL,
	except map[*link]struct{},
) map[*link]struct{} {
	told := w[p]
	delete(w, p)
	links := slices.Collect(maps.Keys(told))
	if len(links) > 1 { // a simulation needs some order
		slices.SortFunc(links, func(a, b *link) int { return cmp.Compare(a.session.id, b.session.id) })
	}
	for _, l := range links {
		if _, ok := except[l]; !ok && l.may(acl, zk.PermRead) {
			l.client.notify(kind, p, zxid)
		}
	}
	return told
}

// forget ends all watches of a connection.
func (w watchTable) forget(l *link) {
	for p, links := range w {
		delete(links, l)
		if len(links) == 0 {
			delete(w, p)
		}
	}
}

// watches are those at one server.
type watches struct{ data, children watchTable }

func newWatches() watches { return watches{watchTable{}, watchTable{}} }

// fire tells of a change, in the server's order.
func (w watches) fire(c change) {
	dir := path.Dir(c.path)
	switch c.kind {
	case created:
		w.data.trigger(c.path, zk.EventNodeCreated, c.zxid, c.nodeACL, nil)
		w.children.trigger(dir, zk.EventNodeChildrenChanged, c.zxid, c.parentACL, nil)
	case deleted:
		told := w.data.trigger(c.path, zk.EventNodeDeleted, c.zxid, c.nodeACL, nil)
		w.children.trigger(c.path, zk.EventNodeDeleted, c.zxid, c.nodeACL, told)
		w.children.trigger(dir, zk.EventNodeChildrenChanged, c.zxid, c.parentACL, nil)
	case dataSet:
		w.data.trigger(c.path, zk.EventNodeDataChanged, c.zxid, c.nodeACL, nil)
	}
}

// rewatch is what a client watches, which it tells a server after a reconnect.
type rewatch struct {
	since                 int64 // the newest transaction that the client has seen
	data, exist, children []string
}

// again sets watches again. A watch on something that has changed since the client saw it fires at once.
func (m *server) again(l *link, r rewatch) {
	t := m.view()
	for _, paths := range [][]string{r.data, r.exist, r.children} {
		slices.Sort(paths) // go-zookeeper names them in no order
	}
	for _, p := range r.data {
		switch n := t[p]; {
		case n == nil:
			l.client.notify(zk.EventNodeDeleted, p, untold)
		case n.mzxid > r.since:
			l.client.notify(zk.EventNodeDataChanged, p, untold)
		default:
			m.watches.data.add(p, l)
		}
	}
	for _, p := range r.exist {
		if t[p] != nil {
			l.client.notify(zk.EventNodeCreated, p, untold)
		} else {
			m.watches.data.add(p, l)
		}
	}
	for _, p := range r.children {
		switch n := t[p]; {
		case n == nil:
			l.client.notify(zk.EventNodeDeleted, p, untold)
		case n.pzxid > r.since:
			l.client.notify(zk.EventNodeChildrenChanged, p, untold)
		default:
			m.watches.children.add(p, l)
		}
	}
}
