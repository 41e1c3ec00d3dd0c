package recipes

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"locklab/recipes/internal/tasks"
	"locklab/recipes/zksession"
)

// reaps bounds how often a create may find its directory gone again. Once is
// the service removing an unused container at that moment; more is a sign of
// something else, for a container just created stays until it has been used.
const reaps = 5

// A creator creates one ephemeral sequential znode whose name begins with a prefix
// of its own, so that the znode is found again if the reply is lost.
type creator struct {
	s      *Session
	dir    string
	prefix string // unique to this attempt, never used again
	data   []byte
	// existing says that the directory is not created where it is missing.
	existing bool
}

// A creation is a znode that a creator has created, and what is known from the answer. If the answer was lost that is
// nothing but the name.
type creation struct {
	name string
	// stat is the znode's when it was created; zero if not known.
	stat zksession.Stat
	// children are the directory's some time after the create; nil if not known.
	children []string
	// again is closed when the session is connected again after the create was sent.
	again <-chan struct{}
}

// create returns the created znode. When ctx ends it returns at once; what becomes of the request is then the session's
// business.
func (c creator) create(ctx context.Context) (creation, error) {
	return owned(ctx, c.s, c.attempt, func(made creation) { c.s.janitor.remove(path.Join(c.dir, made.name)) })
}

// once sends one request to create the znode, and one to list the directory right behind it.
func (c creator) once(ctx context.Context) (creation, error) {
	again, node := c.s.zk.Reconnected(), path.Join(c.dir, c.prefix)
	e, err := c.s.zk.Enter(ctx, node, c.data)
	return creation{path.Base(e.Path), e.Stat, e.Names, again}, err
}

// attempt creates the znode, and after a lost reply finds out whether it exists. If
// it cannot it leaves the znode, which may exist, to the janitor.
func (c creator) attempt(ctx context.Context) (made creation, err error) {
	lost := false // the outcome of a request is not known
	defer func() {
		if err != nil && lost {
			c.s.janitor.sweep(c.dir, c.prefix)
		}
	}()
	for missing := 0; ; {
		if err := c.s.zk.Await(ctx); err != nil {
			return creation{}, err
		}
		// The request itself is not given up: a sweep must not overtake it.
		made, err := c.once(context.WithoutCancel(ctx))
		switch {
		case err == nil:
			return made, nil
		case errors.Is(err, zksession.ErrNoNode) && missing < reaps && !c.existing:
			missing++
			if err := ensureDir(ctx, c.s.zk, c.dir); err != nil {
				return creation{}, fmt.Errorf("create %s: %w", c.dir, err)
			}
		case errors.Is(err, zksession.ErrConnectionLoss):
			lost = true
			name, err := c.find(ctx)
			if err != nil {
				return creation{}, err
			}
			if name != "" {
				return creation{name: name, again: made.again}, nil
			}
		default:
			return creation{}, err
		}
	}
}

// find returns the name of the znode that an unanswered create request has made,
// or "" if it made none and never will.
//
// Why never: the session has since been taken over by the server that answers here
// (it is one session, so it was either the same connection, which keeps the order of
// requests, or a reconnect). A server that we come back to has closed our old
// connection first. If it is another server, the leader moved the session's ownership to it
// before it accepted us: a create that the old server still held is rejected
// from then on; one that the leader had already proposed comes before our sync
// in its queue, and the sync, which is a proposal as well, is answered behind its commit: see
// [zksession.ZooKeeper]. If the leader
// itself changed, servers agreed on the history before they served us, and what is not
// in it never will be. Without the sync a server that lags shows the
// directory as it was, and the second create makes an orphan that blocks the queue. ZooKeeper's own sync would leave
// the same gap on the leader.
func (c creator) find(ctx context.Context) (string, error) {
	// If an answer is lost, the session may have moved again, so the argument must start afresh.
	return settled(ctx, c.search)
}

func (c creator) search(ctx context.Context) (string, error) {
	if err := c.s.zk.Sync(ctx, path.Join(c.dir, c.prefix)); err != nil { // any path does, and this one says whose it is
		return "", err
	}
	children, err := c.s.zk.Children(ctx, c.dir)
	if errors.Is(err, zksession.ErrNoNode) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	found := ""
	for _, name := range children {
		if !strings.HasPrefix(name, c.prefix) {
			continue
		}
		_, stat, err := c.s.zk.Get(ctx, path.Join(c.dir, name))
		switch {
		case errors.Is(err, zksession.ErrNoNode):
			continue
		case err != nil:
			return "", err
		case stat.Owner != c.s.ID():
			continue // impossible, since the prefix is ours alone; but never adopt another session's znode
		}
		if found != "" {
			c.s.janitor.remove(path.Join(c.dir, name))
			continue
		}
		found = name
	}
	return found, nil
}

// owned runs work in a goroutine that the session owns: see [tasks.HandOver].
func owned[T any](ctx context.Context, s *Session, work func(context.Context) (T, error), late func(T)) (T, error) {
	return tasks.HandOver(ctx, &s.tasks, s.Err, work, late)
}

// ensureDir creates the directory and whatever is missing above it, from the bottom up, so that the common case of one
// missing level costs one request. Levels are containers, which the service removes when they are no longer used, or
// persistent where the service has no containers. It is called only after a create was refused for lack of a parent,
// because usually no level is missing. The root itself is there, or is a chroot, whose create makes all of it.
func ensureDir(ctx context.Context, zk zksession.ZooKeeper, dir string) error {
	mode := zksession.Container
	for {
		_, err := zk.Create(ctx, dir, nil, mode)
		switch {
		case err == nil || errors.Is(err, zksession.ErrNodeExists):
			return nil
		case errors.Is(err, zksession.ErrNoNode):
			if err := ensureDir(ctx, zk, path.Dir(dir)); err != nil {
				return err
			}
		case errors.Is(err, zksession.ErrUnimplemented) && mode == zksession.Container:
			mode = zksession.Persistent
		case errors.Is(err, zksession.ErrConnectionLoss):
			// The create can safely be repeated.
		default:
			return err
		}
	}
}
