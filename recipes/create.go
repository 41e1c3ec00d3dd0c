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
}

// create returns the name of the created znode. When ctx ends it returns at once;
// what becomes of the request is then the session's business.
func (c creator) create(ctx context.Context) (string, error) {
	return owned(ctx, c.s, c.attempt, func(name string) { c.s.janitor.remove(path.Join(c.dir, name)) })
}

// attempt creates the znode, and after a lost reply finds out whether it exists. If
// it cannot it leaves the znode, which may exist, to the janitor.
func (c creator) attempt(ctx context.Context) (name string, err error) {
	lost := false // the outcome of a request is not known
	defer func() {
		if err != nil && lost {
			c.s.janitor.sweep(c.dir, c.prefix)
		}
	}()
	for missing := 0; ; {
		if err := c.s.zk.Await(ctx); err != nil {
			return "", err
		}
		// The request itself is not given up: a sweep must not overtake it.
		created, err := c.s.zk.Create(
			context.WithoutCancel(ctx),
			path.Join(c.dir, c.prefix),
			c.data,
			zksession.EphemeralSequential,
		)
		switch {
		case err == nil:
			return path.Base(created), nil
		case errors.Is(err, zksession.ErrNoNode) && missing < reaps:
			missing++
			if err := ensureDir(ctx, c.s.zk, c.dir); err != nil {
				return "", fmt.Errorf("create %s: %w", c.dir, err)
			}
		case errors.Is(err, zksession.ErrConnectionLoss):
			lost = true
			name, err := c.find(ctx)
			if err != nil {
				return "", err
			}
			if name != "" {
				return name, nil
			}
		default:
			return "", err
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
// in its queue, and the sync's answer comes behind its commit. If the leader
// itself changed, servers agreed on the history before they served us, and what is not
// in it never will be. Without the sync a server that lags shows the
// directory as it was, and the second create makes an orphan that blocks the queue.
func (c creator) find(ctx context.Context) (string, error) {
	// If an answer is lost, the session may have moved again, so the argument must start afresh.
	return settled(ctx, c.search)
}

func (c creator) search(ctx context.Context) (string, error) {
	if err := c.s.zk.Sync(ctx, c.dir); err != nil {
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
