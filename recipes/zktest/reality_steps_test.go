package zktest_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"
)

// names are the znodes of a sequence, below its root. Numbers of sequential znodes are low enough for some to be met.
var names = []string{"", "/a", "/a", "/a/x", "/a/x", "/b", "/c", "/c", "/c/s0000000000", "/c/s0000000001"}

// acls are the permissions that sequences use. The player b has the digest.
var acls = [][]zk.ACL{
	zk.WorldACL(zk.PermAll),
	zk.WorldACL(zk.PermAll &^ zk.PermDelete),
	zk.DigestACL(zk.PermAll, "user", "password"),
	append(zk.WorldACL(zk.PermRead), zk.DigestACL(zk.PermAll, "user", "password")...),
	zk.AuthACL(zk.PermAll),
	nil,
	{{Perms: zk.PermAll, Scheme: "nonsense", ID: "x"}},
}

// path draws a path.
func (b *band) path() string { return b.root + names[b.r.IntN(len(names))] }

// data draws data.
func (b *band) data() []byte { return []byte(strings.Repeat("d", b.r.IntN(4))) }

// version draws a version that is required.
func (b *band) version() int32 { return []int32{-1, -1, -1, 0, 1, 2}[b.r.IntN(6)] }

// creation draws a path and the flags for a create.
func (b *band) creation() (path string, flags int32) {
	switch b.r.IntN(8) {
	case 0:
		return b.root + "/c/s", zk.FlagEphemeral | zk.FlagSequence
	case 1:
		return b.root + "/c/s", zk.FlagSequence
	case 2, 3:
		return b.path(), zk.FlagEphemeral
	}
	return b.path(), 0
}

// step lets a player make a random request, and records the answer.
func (b *band) step(p *player) {
	acl := acls[max(0, b.r.IntN(8*len(acls))-7*len(acls))] // mostly the first
	path, version := b.path(), b.version()
	said := func(what string, err error, args ...any) {
		answer := fmt.Sprint(args...)
		if err != nil {
			answer = err.Error()
		}
		b.note("%s %s: %s", p.name, b.short(what), b.short(answer))
	}
	switch b.r.IntN(18) {
	case 0, 1, 2, 3, 16, 17:
		path, flags := b.creation()
		created, err := p.conn.Create(path, b.data(), flags, acl)
		said(fmt.Sprintf("create %s %d %v", path, flags, acl), err, created)
	case 4:
		created, err := p.conn.CreateContainer(path, b.data(), zk.FlagContainer, acl)
		said("create container "+path, err, created)
	case 5, 6:
		said(fmt.Sprintf("delete %s %d", path, version), p.conn.Delete(path, version))
	case 7:
		stat, err := p.conn.Set(path, b.data(), version)
		said(fmt.Sprintf("set %s %d", path, version), err, b.stat(stat))
	case 8:
		data, stat, err := p.conn.Get(path)
		said("get "+path, err, string(data), " ", b.stat(stat))
	case 9:
		data, stat, events, err := p.conn.GetW(path)
		said("get and watch "+path, err, string(data), " ", b.stat(stat))
		p.watches(events)
	case 10:
		exists, stat, events, err := p.conn.ExistsW(path)
		said("exists and watch "+path, err, exists, " ", b.stat(stat))
		p.watches(events)
	case 11, 12:
		children, stat, events, err := p.conn.ChildrenW(path)
		slices.Sort(children)
		said("list and watch "+path, err, children, b.stat(stat))
		p.watches(events)
	case 13:
		acl, stat, err := p.conn.GetACL(path)
		said("get acl "+path, err, acl, b.stat(stat))
	case 14:
		stat, err := p.conn.SetACL(path, acl, version)
		said(fmt.Sprintf("set acl %s %d %v", path, version, acl), err, b.stat(stat))
	default:
		b.transaction(p, said)
	}
}

// watches notes the channel of a watch, if one was set.
func (p *player) watches(events <-chan zk.Event) {
	if events != nil {
		p.wait = append(p.wait, events)
	}
}

// transaction lets a player execute up to four operations as one.
func (b *band) transaction(p *player, said func(string, error, ...any)) {
	var ops []any
	var text strings.Builder
	for range 1 + b.r.IntN(4) {
		path, version := b.path(), b.version()
		switch b.r.IntN(4) {
		case 0:
			path, flags := b.creation()
			ops = append(ops, &zk.CreateRequest{Path: path, Data: b.data(), Acl: zk.WorldACL(zk.PermAll), Flags: flags})
			fmt.Fprintf(&text, " create %s %d", path, flags)
		case 1:
			ops = append(ops, &zk.DeleteRequest{Path: path, Version: version})
			fmt.Fprintf(&text, " delete %s %d", path, version)
		case 2:
			ops = append(ops, &zk.SetDataRequest{Path: path, Data: b.data(), Version: version})
			fmt.Fprintf(&text, " set %s %d", path, version)
		default:
			ops = append(ops, &zk.CheckVersionRequest{Path: path, Version: version})
			fmt.Fprintf(&text, " check %s %d", path, version)
		}
	}
	answers, err := p.conn.Multi(ops...)
	var all strings.Builder
	for _, a := range answers {
		stat := ""
		if a.Stat != nil {
			stat = b.stat(a.Stat)
		}
		fmt.Fprintf(&all, "[%s %s %v]", a.String, stat, a.Error)
	}
	said("multi"+text.String(), nil, err, " ", all.String())
}
