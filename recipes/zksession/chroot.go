package zksession

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"
)

// ParseServers splits a connection string as other clients take it, such as "zk1:2181,zk2:2181/app", into
// [Config].Servers and [Config].Chroot. The chroot is named once, behind the last server. A chroot with a comma can
// only be given as Config.Chroot, because here it looks like a list in which each server has one. Space around the
// string and around each server does not count: it comes from files and variables, and would be part of a chroot.
func ParseServers(s string) (servers []string, chroot string, err error) {
	list, rest, found := strings.Cut(strings.TrimSpace(s), "/")
	if found && rest != "" {
		chroot = "/" + rest
		if strings.Contains(rest, ",") {
			return nil, "", fmt.Errorf("connection string %q: a server follows the chroot; name the chroot once, behind the "+
				"last server, as in zk1:2181,zk2:2181/app", s)
		}
		if err := checkChroot(chroot); err != nil {
			return nil, "", err
		}
	}
	for server := range strings.SplitSeq(list, ",") {
		if server = strings.TrimSpace(server); server == "" {
			return nil, "", fmt.Errorf("connection string %q: a server is empty", s)
		}
		servers = append(servers, server)
	}
	return servers, chroot, nil
}

// checkChroot refuses what cannot be a chroot.
func checkChroot(chroot string) error {
	if err := CheckPath(chroot); err != nil {
		return fmt.Errorf("chroot %q %w", chroot, err)
	}
	return nil
}

// CheckPath says why a text is not the path of a znode below the root; nil if it is one.
func CheckPath(p string) error {
	switch {
	case !strings.HasPrefix(p, "/"):
		return errors.New("does not begin with /")
	case !utf8.ValidString(p):
		return errors.New("is not UTF-8")
	case p == "/":
		return errors.New("is the root")
	case strings.HasSuffix(p, "/"):
		return errors.New("ends with /")
	}
	for part := range strings.SplitSeq(p[1:], "/") {
		if part == "" || part == "." || part == ".." {
			return errors.New("has an empty, . or .. part")
		}
	}
	for _, r := range p {
		if r <= 0x1f || r >= 0x7f && r <= 0x9f || r >= 0xd800 && r <= 0xf8ff || r >= 0xfff0 && r <= 0xffff {
			return errors.New("has a character that ZooKeeper does not allow")
		}
	}
	return nil
}

// Chroot returns a view of a session in which every path is below the given one: "/a" is chroot + "/a". The znode of
// the chroot is created, with those above it, when something is created in it and it does not exist.
func Chroot(z ZooKeeper, chroot string) (ZooKeeper, error) {
	if err := checkChroot(chroot); err != nil {
		return nil, err
	}
	return rooted{z, chroot}, nil
}

// rooted is a session below a path.
type rooted struct {
	ZooKeeper
	root string
}

// full returns the path of a znode as the service has it.
func (r rooted) full(p string) string {
	if p == "/" {
		return r.root
	}
	return r.root + p
}

// Create creates the root, where that is what is missing: whoever misses a parent asks for it at last.
func (r rooted) Create(ctx context.Context, p string, data []byte, mode Mode) (string, error) {
	if p == "/" {
		return p, r.makeRoot(ctx, r.root)
	}
	created, err := r.ZooKeeper.Create(ctx, r.full(p), data, mode)
	return strings.TrimPrefix(created, r.root), err
}

// Enter is Create of an ephemeral sequential znode, and Children of its parent.
func (r rooted) Enter(ctx context.Context, p string, data []byte) (Entry, error) {
	e, err := r.ZooKeeper.Enter(ctx, r.full(p), data)
	e.Path = strings.TrimPrefix(e.Path, r.root)
	return e, err
}

// makeRoot creates a level of the root, and whatever is missing above it. It may be repeated.
func (r rooted) makeRoot(ctx context.Context, level string) error {
	for {
		_, err := r.ZooKeeper.Create(ctx, level, nil, Persistent)
		switch {
		case err == nil || errors.Is(err, ErrNodeExists):
			return nil
		case errors.Is(err, ErrNoNode) && path.Dir(level) != "/":
			if err := r.makeRoot(ctx, path.Dir(level)); err != nil {
				return err
			}
		default:
			return err
		}
	}
}

func (r rooted) Delete(ctx context.Context, p string) error {
	return r.ZooKeeper.Delete(ctx, r.full(p))
}

func (r rooted) Get(ctx context.Context, p string) ([]byte, Stat, error) {
	return r.ZooKeeper.Get(ctx, r.full(p))
}

func (r rooted) GetW(ctx context.Context, p string, fired func(Event)) ([]byte, Stat, error) {
	return r.ZooKeeper.GetW(ctx, r.full(p), fired)
}

func (r rooted) Children(ctx context.Context, p string) ([]string, error) {
	return r.ZooKeeper.Children(ctx, r.full(p))
}

func (r rooted) ChildrenW(ctx context.Context, p string, fired func(Event)) ([]string, error) {
	return r.ZooKeeper.ChildrenW(ctx, r.full(p), fired)
}

func (r rooted) Succeed(ctx context.Context, own, ahead string, compare bool) (*Succession, error) {
	return r.ZooKeeper.Succeed(ctx, r.full(own), r.full(ahead), compare)
}

func (r rooted) Sync(ctx context.Context, p string) error {
	return r.ZooKeeper.Sync(ctx, r.full(p))
}

func (r rooted) Multi(ctx context.Context, ops ...Op) ([]string, error) {
	full := make([]Op, len(ops))
	for i, op := range ops {
		op.Path = r.full(op.Path)
		full[i] = op
	}
	created, err := r.ZooKeeper.Multi(ctx, full...)
	for i := range created {
		created[i] = strings.TrimPrefix(created[i], r.root)
	}
	return created, err
}
