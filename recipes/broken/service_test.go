package broken_test

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/go-zookeeper/zk"

	"locklab/ensembles/labtest/apart"
)

// A znode is a contender or a lease as the service shows it.
type znode struct {
	path         string
	reader       bool
	seq          int64
	owner, czxid int64
}

// nodes returns the present children of a directory, ordered by their sequence numbers.
func (w *world) nodes(dir string) (all []znode) {
	w.t.Helper()
	if _, err := w.service.Sync(dir); err != nil {
		w.t.Fatal(err)
	}
	names, _, err := w.service.Children(dir)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, name := range names {
		n, ok := w.node(path.Join(dir, name))
		if !ok {
			continue // it was deleted after the list
		}
		n.reader = strings.Contains(name, "__READ__")
		if n.seq, err = strconv.ParseInt(name[len(name)-10:], 10, 64); err != nil {
			w.t.Fatal(err)
		}
		all = append(all, n)
	}
	slices.SortFunc(all, func(a, b znode) int { return cmp.Compare(a.seq, b.seq) })
	return all
}

// node returns one znode, if it exists.
func (w *world) node(path string) (znode, bool) {
	w.t.Helper()
	if _, err := w.service.Sync(path); err != nil {
		w.t.Fatal(err)
	}
	_, stat, err := w.service.Get(path)
	if err == zk.ErrNoNode {
		return znode{}, false
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return znode{path: path, owner: stat.EphemeralOwner, czxid: stat.Czxid}, true
}

// owned counts the znodes that belong to a session.
func owned(all []znode, session int64) (n int) {
	for _, z := range all {
		if z.owner == session {
			n++
		}
	}
	return n
}

// watches reports whether a session has a watch on a path, whether or not a znode exists there.
func (w *world) watches(session int64, path string) bool {
	w.t.Helper()
	for _, server := range w.servers {
		at := ""
		for line := range strings.Lines(apart.Ask(w.t, server, "wchp")) {
			line = strings.TrimRight(line, "\n")
			id, indented := strings.CutPrefix(line, "\t0x")
			if !indented {
				at = line
			} else if at == path && id == strconv.FormatUint(uint64(session), 16) {
				return true
			}
		}
	}
	return false
}
