package broken

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/go-zookeeper/zk"

	"locklab/recipes"
	"locklab/recipes/zksession"
)

// A queue is the algorithm of most locks of this package: contenders create a sequential znode and wait for those
// before them. It is sound as far as a lock can be on a [Client]. Each lock replaces the one step that it gets wrong.
type queue struct {
	c        client
	dir      string
	kind     string // of our own contenders: writing or reading
	onQueued func(ahead int)

	// prefix begins the name of a contender's znode.
	prefix func(s session, guid string) string
	// settle returns the name of the znode that an unanswered create has made, or "".
	settle func(a *attempt) (string, error)
	// verify returns an error unless the attempt may rely on what it has just seen.
	verify func(a *attempt, contenders []contender) error
	// blocker returns the contender that has to go before the attempt may hold, or "".
	blocker func(a *attempt, contenders []contender) string
	// watch returns a channel that reports when a contender goes, or nil if it has gone.
	watch func(a *attempt, name string) (<-chan zk.Event, error)
	// discard removes the znode of an attempt that failed when ctx may have ended.
	discard func(ctx context.Context, a *attempt)
	// token returns the hold's token.
	token func(a *attempt) int64
}

// The marks of the contenders' znodes: Curator's.
const (
	locking = "lock-"
	writing = "__WRIT__"
	reading = "__READ__"
	leasing = "lease-"
)

func newQueue(cfg Config, dir, kind string) *queue {
	q := &queue{c: client{cfg.Client}, dir: dir, kind: kind, onQueued: cfg.OnQueued}
	q.prefix = func(_ session, guid string) string { return "_c_" + guid + "-" + kind }
	q.settle = func(a *attempt) (string, error) { return a.search(true) }
	q.verify = (*attempt).verified
	q.blocker = predecessor
	q.watch = (*attempt).watchData
	q.discard = func(_ context.Context, a *attempt) { _ = a.remove() }
	q.token = func(a *attempt) int64 { return a.stat.Czxid }
	return q
}

// A contender is a child of the lock's directory.
type contender struct {
	name, kind string
	seq        int64
}

// contenders returns those among the children, by sequence number.
func contenders(children []string) (all []contender) {
	for _, name := range children {
		for _, kind := range []string{locking, writing, reading, leasing} {
			head, digits := name[:max(0, len(name)-10)], name[max(0, len(name)-10):]
			if seq, err := strconv.ParseInt(digits, 10, 64); err == nil && strings.HasSuffix(head, kind) {
				all = append(all, contender{name, kind, seq})
			}
		}
	}
	slices.SortFunc(all, func(a, b contender) int {
		// A downgraded reader has its writer's number.
		return cmp.Or(cmp.Compare(a.seq, b.seq), -cmp.Compare(a.kind, b.kind), cmp.Compare(a.name, b.name))
	})
	return all
}

// predecessor is the rule for contenders that hold alone.
func predecessor(a *attempt, all []contender) (name string) {
	for _, c := range all {
		if c.seq < a.seq || c.seq == a.seq && c.kind == reading && a.q.kind == writing {
			name = c.name
		}
	}
	return name
}

// lastWriter is the rule for readers.
func lastWriter(a *attempt, all []contender) (name string) {
	for _, c := range all {
		if c.seq < a.seq && c.kind == writing {
			name = c.name
		}
	}
	return name
}

// An attempt is one attempt to hold the lock.
type attempt struct {
	q    *queue
	s    session // in which the znode was created
	pre  string
	name string
	seq  int64
	stat zk.Stat // of the attempt's own znode, once it was read
}

func (a *attempt) path() string { return path.Join(a.q.dir, a.name) }

// Acquire implements [recipes.Lock].
func (q *queue) Acquire(ctx context.Context) (*recipes.Hold, error) {
	a, err := q.enter(ctx)
	if err != nil {
		return nil, fmt.Errorf("acquire %s: %w", q.dir, err)
	}
	return hold(a.s, q.token(a), a.remove), nil
}

// enter waits for the attempt's turn.
func (q *queue) enter(ctx context.Context) (*attempt, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	s, err := q.c.Session(ctx)
	if err != nil {
		return nil, err
	}
	a := &attempt{q: q, s: s, pre: q.prefix(s, q.c.GUID())}
	if err := a.create(); err != nil {
		return nil, err
	}
	if err := a.await(ctx); err != nil {
		q.discard(ctx, a)
		return nil, err
	}
	return a, nil
}

// create makes the attempt's znode.
func (a *attempt) create() error {
	c := a.q.c
	for {
		created, err := c.Conn.Create(path.Join(a.q.dir, a.pre), nil, zk.FlagEphemeral|zk.FlagSequence, everybody)
		switch {
		case err == nil:
			a.name = path.Base(created)
		case err == zk.ErrNoNode:
			if err := c.mkdir(a.q.dir); err != nil {
				return err
			}
			continue
		case answered(err):
			return err
		default:
			if a.name, err = a.q.settle(a); err != nil {
				return err
			}
			if a.name == "" {
				if err := a.s.Err(); err != nil {
					return err
				}
				continue
			}
		}
		a.seq, err = strconv.ParseInt(a.name[len(a.name)-10:], 10, 64)
		return err
	}
}

// everybody lets every client do everything.
var everybody = zk.WorldACL(zk.PermAll)

// mkdir creates a directory and its missing parents, as containers.
func (c client) mkdir(dir string) error {
	err := c.repeat(func() error {
		_, err := c.Conn.CreateContainer(dir, nil, zk.FlagContainer, everybody)
		return err
	})
	if err == zk.ErrNoNode && dir != "/" {
		if err := c.mkdir(path.Dir(dir)); err != nil {
			return err
		}
		return c.mkdir(dir)
	}
	if err == zk.ErrNodeExists {
		return nil
	}
	return err
}

// search looks for the znode that an unanswered create may have made.
func (a *attempt) search(sync bool) (found string, err error) {
	c := a.q.c
	err = c.repeat(func() error {
		if sync {
			if _, err := c.Conn.Sync(a.q.dir); err != nil {
				return err
			}
		}
		children, _, err := c.Conn.Children(a.q.dir)
		for _, name := range children {
			if strings.HasPrefix(name, a.pre) {
				found = name
			}
		}
		return err
	})
	return found, err
}

// await waits until no contender is in the way.
func (a *attempt) await(ctx context.Context) error {
	queued := false
	for {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		all, err := a.list()
		if err != nil {
			return err
		}
		if err := a.q.verify(a, all); err != nil {
			return err
		}
		block := a.q.blocker(a, all)
		if !queued && a.q.onQueued != nil {
			a.q.onQueued(slices.IndexFunc(all, func(c contender) bool { return c.name == block }) + 1)
		}
		queued = true
		if block == "" {
			return nil
		}
		events, err := a.q.watch(a, block)
		if err != nil {
			return err
		}
		if events == nil {
			continue
		}
		select {
		case <-events: // or the session has ended, which the next read shows
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// list returns the contenders, in whichever session the answer arrives.
func (a *attempt) list() (all []contender, err error) {
	err = a.q.c.repeat(func() error {
		children, _, err := a.q.c.Conn.Children(a.q.dir)
		all = contenders(children)
		return err
	})
	return all, err
}

// verified requires that the attempt's own znode exists and belongs to the session that created it, and that this
// session is not over.
func (a *attempt) verified(all []contender) error {
	if err := a.q.listed(a, all); err != nil {
		return err
	}
	if err := a.look(); err != nil {
		return err
	}
	if err := a.s.Err(); err != nil {
		return err
	}
	if now := a.q.c.Conn.SessionID(); a.stat.EphemeralOwner != a.s.ID || now != a.s.ID {
		return zksession.ErrSessionExpired
	}
	return nil
}

// listed requires that the attempt's own znode is in the list.
func (*queue) listed(a *attempt, all []contender) error {
	if !slices.ContainsFunc(all, func(c contender) bool { return c.name == a.name }) {
		return cmp.Or(a.s.Err(), error(zk.ErrNoNode))
	}
	return nil
}

// look reads the attempt's own znode.
func (a *attempt) look() error {
	return a.q.c.repeat(func() error {
		_, stat, err := a.q.c.Conn.Get(a.path())
		if err == nil {
			a.stat = *stat
		}
		return err
	})
}

// watchData watches by a read, which leaves no watch if the znode is gone.
func (a *attempt) watchData(name string) (events <-chan zk.Event, err error) {
	err = a.q.c.repeat(func() (err error) {
		_, _, events, err = a.q.c.Conn.GetW(path.Join(a.q.dir, name))
		return err
	})
	if err == zk.ErrNoNode {
		return nil, nil
	}
	return events, err
}

// remove deletes the attempt's znode. Its name is never used again, so the delete can safely be repeated.
func (a *attempt) remove() error { return a.q.c.remove(a.path()) }

func (c client) remove(node string) error {
	err := c.repeat(func() error { return c.Conn.Delete(node, -1) })
	if err == zk.ErrNoNode {
		return nil
	}
	return err
}

// hold makes a hold that ends with the session, if not before.
func hold(s session, token int64, release func() error) *recipes.Hold {
	h, _ := recipes.NewHold(recipes.HoldConfig{Parent: s.Life, Session: s.ID, Token: token,
		Release: func(context.Context) error { return release() }})
	return h
}
