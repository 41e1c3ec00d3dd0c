package remote

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path"
	"regexp"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/ensembles/reach"
	"locklab/recipes/zksession"
)

// ownName matches the names of the paths of runs.
var ownName = regexp.MustCompile(`^locklab-[0-9a-f]{8}$`)

// alive is the name of the ephemeral znode that a path has as long as its run lasts.
const alive = "alive"

// mark is the data of the path of that name.
func mark(name string) string {
	return name + ": made by a locklab run, which removes it; if the run was killed: locklab clean --connect"
}

// A Path is the path of one run.
type Path struct {
	// Name is the whole path.
	Name string
	// Zxid is the transaction that made the path.
	Zxid int64

	access  *Access
	session zksession.ZooKeeper // owns the ephemeral znode
}

// liveTimeout is the session timeout to ask for on behalf of a path. It decides how soon after a killed run
// [Access.Clean] sees that nobody uses the path.
const liveTimeout = 6 * time.Second

// MakePath makes the path of the run with that id, which has eight hexadecimal digits. An error for which the ensemble
// is to blame wraps [ErrUnusable]; nothing was made then.
func (a *Access) MakePath(ctx context.Context, id string, log *slog.Logger) (*Path, error) {
	s, err := a.open(ctx, log)
	if err != nil {
		return nil, err
	}
	name := "locklab-" + id
	p := &Path{Name: a.Chroot + "/" + name, access: a, session: s}
	once, cancel := context.WithTimeout(ctx, inspectCap)
	defer cancel()
	if err = mayRemove(once, s, p.Name); err == nil {
		_, err = s.Multi(once,
			zksession.Op{Kind: zksession.OpCreate, Path: p.Name, Data: []byte(mark(name)), Mode: zksession.Persistent},
			zksession.Op{Kind: zksession.OpCreate, Path: path.Join(p.Name, alive), Mode: zksession.Ephemeral})
	}
	if err == nil {
		var stat zksession.Stat
		_, stat, err = s.Get(once, p.Name)
		p.Zxid = stat.Czxid
	}
	if err != nil {
		err = errors.Join(a.refused(once, err), s.Close(context.WithoutCancel(ctx)))
		return nil, err
	}
	return p, nil
}

// open opens a session, which waits at most inspectCap for a server.
func (a *Access) open(ctx context.Context, log *slog.Logger) (zksession.ZooKeeper, error) {
	once, cancel := context.WithTimeout(ctx, inspectCap)
	defer cancel()
	s, err := a.Session(once, liveTimeout, log, a.Servers...)
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("%w: %w", ErrUnusable, err)
	}
	return s, err
}

// mayRemove makes sure that the session may remove what it is about to make, because permission to delete is another
// than that to create. The znode that it tries that with ends with the session in any case.
func mayRemove(ctx context.Context, s zksession.ZooKeeper, name string) error {
	probe := name + "-probe"
	if _, err := s.Create(ctx, probe, nil, zksession.Ephemeral); err != nil {
		return err
	}
	return s.Delete(ctx, probe)
}

// refused says in one line why the ensemble did not let the path be made.
func (a *Access) refused(ctx context.Context, err error) error {
	parent := a.Chroot
	if parent == "" {
		parent = "/"
	}
	switch {
	case errors.Is(err, zksession.ErrNoNode):
		return fmt.Errorf("%w: there is no znode %s, the chroot in --connect; runs make none, so create it or correct it",
			ErrUnusable, parent)
	case errors.Is(err, zksession.ErrNoAuth):
		return fmt.Errorf("%w: %s", ErrUnusable, a.denial(ctx, parent))
	case ctx.Err() != nil:
		return fmt.Errorf("%w: no server committed the creation of a path within %v", ErrUnusable, inspectCap)
	}
	return fmt.Errorf("%w: make a path in %s: %w", ErrUnusable, parent, err)
}

// needed are the permissions that a run needs in the parent of its path.
const needed = zk.PermCreate | zk.PermDelete

// denial says what is missing where the session may not create and delete children of a znode. It goes by the ACL, as
// far as the session may read that.
func (a *Access) denial(ctx context.Context, parent string) string {
	const cure = "; it needs the permissions to read, create and delete (crd)"
	acl, err := a.readACL(ctx, parent)
	user := a.Credential.User()
	if err != nil && user != "" {
		return fmt.Sprintf("user %s with this password may not create znodes in %s: the password is wrong, or the ACL of "+
			"%s does not name the user"+cure, user, parent, parent)
	}
	if user == "" {
		return fmt.Sprintf("clients without a credential may not create and delete znodes in %s; give one with "+
			"--connect-auth", parent)
	}
	named := false
	for _, entry := range acl {
		if entry.Scheme != "digest" || reach.Secret(entry.ID).User() != user {
			continue
		}
		if named = true; entry.Perms&needed == needed {
			// The entry would allow it, so it is not for this password.
			return fmt.Sprintf("the password of user %s is wrong: the ACL of %s lets that user create and delete znodes, and "+
				"does not let this one", user, parent)
		}
	}
	if named {
		return fmt.Sprintf("the ACL of %s does not let user %s create and delete znodes"+cure, parent, user)
	}
	return fmt.Sprintf("the ACL of %s does not name user %s"+cure, parent, user)
}

// readACL reads the ACL of a znode, in which servers hide digests from those who may not change it.
func (a *Access) readACL(ctx context.Context, node string) ([]zk.ACL, error) {
	type answer struct {
		acl []zk.ACL
		err error
	}
	dial := func(network, address string, _ time.Duration) (conn net.Conn, err error) {
		return a.Dial(ctx, network, address)
	}
	c, _, err := zk.Connect(a.Servers, liveTimeout, zk.WithDialer(dial), zk.WithLogInfo(false), zk.WithLogger(silent{}))
	if err != nil {
		return nil, err
	}
	got := make(chan answer, 1)
	go func() {
		err := c.AddAuth("digest", []byte(a.Credential))
		var acl []zk.ACL
		if err == nil {
			acl, _, err = c.GetACL(node)
		}
		got <- answer{acl, err}
	}()
	select {
	case r := <-got:
		c.Close()
		return r.acl, r.err
	case <-ctx.Done():
		c.Close() // ends the calls in flight
		<-got
		return nil, context.Cause(ctx)
	}
}

// silent drops the messages of a client.
type silent struct{}

func (silent) Printf(string, ...any) {}

// Close removes the path with all that is below it, and ends the session that kept it alive. Clients of the run must
// have ended.
func (p *Path) Close(ctx context.Context) error {
	s := p.session
	var errs []error
	if s.Err() != nil { // the ensemble was out of reach for longer than the session timeout
		var err error
		if s, err = p.access.open(ctx, slog.New(slog.DiscardHandler)); err != nil {
			return fmt.Errorf("remove %s: %w; later: locklab clean --connect", p.Name, err)
		}
	}
	if err := remove(ctx, s, p.Name); err != nil {
		errs = append(errs, fmt.Errorf("remove %s: %w; later: locklab clean --connect", p.Name, err))
	}
	return errors.Join(append(errs, s.Close(ctx))...)
}

// remove deletes a znode with all that is below it. What appears there meanwhile is deleted too.
func remove(ctx context.Context, s zksession.ZooKeeper, node string) error {
	for {
		names, err := s.Children(ctx, node)
		if errors.Is(err, zksession.ErrNoNode) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := remove(ctx, s, path.Join(node, name)); err != nil {
				return err
			}
		}
		err = s.Delete(ctx, node)
		if err == nil || errors.Is(err, zksession.ErrNoNode) {
			return nil
		}
		if !errors.Is(err, zk.ErrNotEmpty) {
			return err
		}
	}
}

// Clean removes the paths that killed runs have left. It removes nothing that does not bear the mark of a run, and no
// path in which some session still has an ephemeral znode.
func (a *Access) Clean(ctx context.Context, log *slog.Logger) error {
	s, err := a.open(ctx, log)
	if err != nil {
		return err
	}
	errs := []error{a.clean(ctx, s, log)}
	return errors.Join(append(errs, s.Close(context.WithoutCancel(ctx)))...)
}

func (a *Access) clean(ctx context.Context, s zksession.ZooKeeper, log *slog.Logger) error {
	parent := a.Chroot
	if parent == "" {
		parent = "/"
	}
	names, err := s.Children(ctx, parent)
	if err != nil {
		return a.refused(ctx, err)
	}
	var errs []error
	for _, name := range names {
		node := path.Join(parent, name)
		if !ownName.MatchString(name) {
			continue
		}
		data, _, err := s.Get(ctx, node)
		if err != nil || string(data) != mark(name) {
			log.Warn("left alone, because it does not bear the mark of a run", "path", node, "err", err)
			continue
		}
		used, err := inUse(ctx, s, node)
		switch {
		case err != nil:
		case used:
			log.Info("left alone, because a session still uses it", "path", node)
			continue
		default:
			log.Info("remove leftover", "path", node)
			err = remove(ctx, s, node)
		}
		if err != nil && !errors.Is(err, zksession.ErrNoNode) {
			errs = append(errs, fmt.Errorf("remove %s: %w", node, err))
		}
	}
	return errors.Join(errs...)
}

// inUse reports whether there is an ephemeral znode below a node.
func inUse(ctx context.Context, s zksession.ZooKeeper, node string) (bool, error) {
	names, err := s.Children(ctx, node)
	if err != nil {
		return false, err
	}
	for _, name := range names {
		child := path.Join(node, name)
		_, stat, err := s.Get(ctx, child)
		switch {
		case errors.Is(err, zksession.ErrNoNode):
			continue
		case err != nil:
			return false, err
		case stat.Owner != 0:
			return true, nil
		}
		if used, err := inUse(ctx, s, child); used || err != nil && !errors.Is(err, zksession.ErrNoNode) {
			return used, err
		}
	}
	return false, nil
}
