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
	"github.com/google/uuid"

	"locklab/recipes"
)

// A queue is what most locks of this package are: contenders create a sequential znode
// and wait for those before them. It is sound as far as a lock can be on a [Client];
// each lock replaces the one step that it gets wrong.
type queue struct {
	c        *Client
	dir      string
	kind     string // of our own contenders: writing or reading
	onQueued func(ahead int)

	// prefix begins the name of a contender's znode.
	prefix func(s session, guid string) string
	// settle returns the name of the znode that an unanswered create has made, or "".
	settle func(a *attempt) (string, error)
	// verify returns an error unless the attempt may rely on what it has just seen.
	verify func(a *attempt, contenders []contender) error
	// blocker returns who has to go before the attempt may hold, or "".
	blocker func(a *attempt, contenders []contender) string
	// watch returns what tells of the going of a contender, or nil if it has gone.
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
	q := &queue{c: cfg.Client, dir: dir, kind: kind, onQueued: cfg.OnQueued}
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

// predecessor is the rule of those who hold alone.
func predecessor(a *attempt, all []contender) (name string) {
	for _, c := range all {
		if c.seq < a.seq || c.seq == a.seq && c.kind == reading && a.q.kind == writing {
			name = c.name
		}
	}
	return name
}

// lastWriter is the rule of readers.
func lastWriter(a *attempt, all []contender) (name string) {
	for _, c := range all {
		if c.seq < a.seq && c.kind == writing {
			name = c.name
		}
	}
	return name
}

// An attempt is one at holding the lock.
type attempt struct {
	q    *queue
	s    session // in which the znode was created
	pre  string
	name string
	seq  int64
	stat zk.Stat // of the own znode, once it was looked at
}

func (a *attempt) path() string { return path.Join(a.q.dir, a.name) }

// Acquire implements [recipes.Lock].
func (q *queue) Acquire(ctx context.Context) (*recipes.Hold, error) {
	a, err := q.enter(ctx)
	if err != nil {
		return nil, fmt.Errorf("acquire %s: %w", q.dir, err)
	}
	return a.s.hold(q.token(a), a.remove), nil
}

// enter waits for the attempt's turn.
func (q *queue) enter(ctx context.Context) (*attempt, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	s, err := q.c.session(ctx)
	if err != nil {
		return nil, err
	}
	a := &attempt{q: q, s: s, pre: q.prefix(s, uuid.NewString())}
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
		created, err := c.conn.Create(path.Join(a.q.dir, a.pre), nil, zk.FlagEphemeral|zk.FlagSequence, everybody)
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
				if err := a.s.over(); err != nil {
					return err
				}
				continue
			}
		}
		a.seq, err = strconv.ParseInt(a.name[len(a.name)-10:], 10, 64)
		return err
	}
}

// everybody may do everything.
var everybody = zk.WorldACL(zk.PermAll)

// mkdir creates a directory and what is missing above it, as containers.
func (c *Client) mkdir(dir string) error {
	err := c.repeat(func() error {
		_, err := c.conn.CreateContainer(dir, nil, zk.FlagContainer, everybody)
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
			if _, err := c.conn.Sync(a.q.dir); err != nil {
				return err
			}
		}
		children, _, err := c.conn.Children(a.q.dir)
		for _, name := range children {
			if strings.HasPrefix(name, a.pre) {
				found = name
			}
		}
		return err
	})
	return found, err
}

// await waits until nobody is in the way.
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
		case <-events: // or the session's end, which the next look tells
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// list returns the contenders, in whichever session the answer comes.
func (a *attempt) list() (all []contender, err error) {
	err = a.q.c.repeat(func() error {
		children, _, err := a.q.c.conn.Children(a.q.dir)
		all = contenders(children)
		return err
	})
	return all, err
}

// verified requires the own znode to be there and to belong to the session that created it, and
// that session not to be over.
func (a *attempt) verified(all []contender) error {
	if err := a.q.listed(a, all); err != nil {
		return err
	}
	if err := a.look(); err != nil {
		return err
	}
	if err := a.s.over(); err != nil {
		return err
	}
	if now := a.q.c.SessionID(); a.stat.EphemeralOwner != a.s.id || now != a.s.id {
		return recipes.ErrSessionExpired
	}
	return nil
}

// listed requires the own znode to be in the list.
func (*queue) listed(a *attempt, all []contender) error {
	if !slices.ContainsFunc(all, func(c contender) bool { return c.name == a.name }) {
		return cmp.Or(a.s.over(), error(zk.ErrNoNode))
	}
	return nil
}

// look reads the own znode.
func (a *attempt) look() error {
	return a.q.c.repeat(func() error {
		_, stat, err := a.q.c.conn.Get(a.path())
		if err == nil {
			a.stat = *stat
		}
		return err
	})
}

// watchData watches by a read, which leaves no watch on a znode that has gone.
func (a *attempt) watchData(name string) (events <-chan zk.Event, err error) {
	err = a.q.c.repeat(func() (err error) {
		_, _, events, err = a.q.c.conn.GetW(path.Join(a.q.dir, name))
		return err
	})
	if err == zk.ErrNoNode {
		return nil, nil
	}
	return events, err
}

// remove deletes the attempt's znode, whose name is never used again: repeating it is safe.
func (a *attempt) remove() error { return a.q.c.remove(a.path()) }

func (c *Client) remove(node string) error {
	err := c.repeat(func() error { return c.conn.Delete(node, -1) })
	if err == zk.ErrNoNode {
		return nil
	}
	return err
}

// hold makes a hold that ends with the session at the latest.
func (s session) hold(token int64, release func() error) *recipes.Hold {
	h, _ := recipes.NewHold(recipes.HoldConfig{Parent: s.life, Session: s.id, Token: token,
		Release: func(context.Context) error { return release() }})
	return h
}
