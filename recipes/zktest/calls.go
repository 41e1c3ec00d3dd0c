package zktest

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/go-zookeeper/zk"

	"locklab/recipes/internal/tasks"
	"locklab/recipes/zkproto"
	"locklab/recipes/zksession"
)

// call makes one request, and returns when it is answered or ctx ends.
func (z *Session) call(ctx context.Context, r *request, w *watcher) (reply, error) {
	// While disconnected nothing is queued.
	if err := z.Await(ctx); err != nil {
		return reply{}, err
	}
	type answer struct {
		reply
		err error
	}
	answers := make(chan answer, 1)
	if !z.calls.Start(func() { a, err := z.perform(r, w); answers <- answer{a, err} }) {
		return reply{}, z.Err()
	}
	select {
	case a := <-answers:
		return a.reply, a.err
	case <-ctx.Done():
		return reply{}, tasks.Ended(ctx)
	}
}

// perform makes one request, subject to the faults. If it succeeds, w has been set.
func (z *Session) perform(r *request, w *watcher) (reply, error) {
	f := z.svc.fate(z.id, r, z.cfg.Decide)
	z.svc.wait(f.Delay, z.done)
	l, a, err := z.execute(r, w, f.Outcome)
	if err != nil {
		return reply{}, err
	}
	if f.ReplyDelay > 0 {
		z.svc.wait(f.ReplyDelay, l.done)
		if err := z.late(l, w); err != nil {
			return reply{}, err
		}
	}
	z.received(a)
	return a, refusal(a)
}

// execute lets the service execute a request, or not, as its fault says.
func (z *Session) execute(r *request, w *watcher, o Outcome) (*link, reply, error) {
	s := z.svc
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := z.Err(); err != nil {
		return nil, reply{}, err
	}
	l := z.remote.link
	if l == nil {
		return nil, reply{}, zksession.ErrConnectionLoss
	}
	switch o {
	case RequestLost:
		z.reconnect(l)
		return nil, reply{}, zksession.ErrConnectionLoss
	case ExpireBefore:
		s.end(z.remote)
		return nil, reply{}, zksession.ErrSessionExpired
	}
	a := s.execute(l, r)
	switch o {
	case ReplyLost:
		z.reconnect(l)
		return nil, reply{}, zksession.ErrConnectionLoss
	case ExpireAfter:
		s.end(z.remote)
		return nil, reply{}, zksession.ErrSessionExpired
	}
	if w != nil && a.code == zkproto.CodeOK {
		z.mu.Lock()
		defer z.mu.Unlock()
		z.watchers = append(z.watchers, w)
	}
	return l, a, nil
}

// reconnect breaks a link, and connects the session again if it may be. svc.mu is held.
func (z *Session) reconnect(l *link) {
	l.cut()
	z.svc.attach(z.remote)
}

// late returns an error if a link was broken while an answer was on its way.
func (z *Session) late(l *link, w *watcher) error {
	select {
	case <-l.done:
		z.abandon(w)
		if err := z.Err(); err != nil {
			return err
		}
		return zksession.ErrConnectionLoss
	default:
		return nil
	}
}

func (z *Session) received(a reply) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.seen = max(z.seen, a.zxid)
}

// refused are the errors that a [zksession.ZooKeeper] returns for the service's codes.
var refused = map[int32]error{
	zkproto.CodeUnimplemented: zksession.ErrUnimplemented,
	zkproto.CodeBadArguments:  zk.ErrBadArguments,
	zkproto.CodeNoNode:        zksession.ErrNoNode,
	zkproto.CodeNoAuth:        zksession.ErrNoAuth,
	zkproto.CodeBadVersion:    zksession.ErrBadVersion,
	zkproto.CodeEphemeral:     zk.ErrNoChildrenForEphemerals,
	zkproto.CodeNodeExists:    zksession.ErrNodeExists,
	zkproto.CodeNotEmpty:      zk.ErrNotEmpty,
	zkproto.CodeInvalidACL:    zksession.ErrInvalidACL,
}

// refusal returns the error that an answer stands for.
func refusal(a reply) error {
	for i, r := range a.results {
		if r.code != zkproto.CodeOK {
			return &zksession.OpError{Index: i, Err: refused[r.code]}
		}
	}
	if a.code == zkproto.CodeOK {
		return nil
	}
	return refused[a.code]
}

// everybody lets every client do everything.
var everybody = zk.WorldACL(zk.PermAll)

func (z *Session) creation(path string, data []byte, mode zksession.Mode) request {
	r := request{op: OpCreate, path: path, data: slices.Clone(data), acl: everybody, session: z.id}
	switch mode {
	case zksession.Container:
		r.op, r.flags = OpCreateContainer, zk.FlagContainer
	case zksession.Ephemeral:
		r.flags = zk.FlagEphemeral
	case zksession.EphemeralSequential:
		r.flags = zk.FlagEphemeralSequential
	}
	return r
}

// Create and the methods below implement [zksession.ZooKeeper].
func (z *Session) Create(ctx context.Context, path string, data []byte, mode zksession.Mode) (string, error) {
	r := z.creation(path, data, mode)
	a, err := z.call(ctx, &r, nil)
	return a.path, err
}

// Enter implements [zksession.ZooKeeper]. It makes two requests, one after the other, each with a fate of its own.
func (z *Session) Enter(ctx context.Context, node string, data []byte) (zksession.Entry, error) {
	r := z.creation(node, data, zksession.EphemeralSequential)
	r.op = OpCreate2
	a, err := z.call(ctx, &r, nil)
	if err != nil {
		return zksession.Entry{}, err
	}
	e := zksession.Entry{Path: a.path, Stat: statOf(a.stat)}
	e.Names, e.Err = z.Children(ctx, path.Dir(node))
	return e, nil
}

func (z *Session) Delete(ctx context.Context, path string) error {
	_, err := z.call(ctx, &request{op: OpDelete, path: path, version: anyVersion}, nil)
	return err
}

// Sync implements [zksession.ZooKeeper]. On a connection it is a transaction; here it is a sync, which in this service
// always waits, so that a test can tell the two apart.
func (z *Session) Sync(ctx context.Context, path string) error {
	_, err := z.call(ctx, &request{op: OpSync, path: path}, nil)
	return err
}

func (z *Session) Get(ctx context.Context, path string) ([]byte, zksession.Stat, error) {
	a, err := z.call(ctx, &request{op: OpGetData, path: path}, nil)
	return slices.Clone(a.data), statOf(a.stat), err
}

func (z *Session) GetW(
	ctx context.Context,
	path string,
	fired func(zksession.Event),
) ([]byte, zksession.Stat, error) {
	a, err := z.watch(ctx, &request{op: OpGetData, path: path, watch: true}, watchData, fired)
	return slices.Clone(a.data), statOf(a.stat), err
}

func (z *Session) Children(ctx context.Context, path string) ([]string, error) {
	a, err := z.call(ctx, &request{op: OpGetChildren2, path: path}, nil)
	return a.names, err
}

func (z *Session) ChildrenW(ctx context.Context, path string, fired func(zksession.Event)) ([]string, error) {
	a, err := z.watch(ctx, &request{op: OpGetChildren2, path: path, watch: true}, watchChildren, fired)
	return a.names, err
}

// Succeed implements [zksession.ZooKeeper]. A session without a connection sees nothing of a succession.
func (z *Session) Succeed(context.Context, string, string, bool) (*zksession.Succession, error) {
	return nil, nil
}

func statOf(s zk.Stat) zksession.Stat {
	return zksession.Stat{Czxid: s.Czxid, Owner: s.EphemeralOwner, Ctime: s.Ctime, Mzxid: s.Mzxid, Version: s.Version,
		Children: s.NumChildren}
}

// watch makes a read that sets a watch, and calls fired once if it succeeds.
func (z *Session) watch(
	ctx context.Context,
	r *request,
	kind watchKind,
	fired func(zksession.Event),
) (reply, error) {
	w := &watcher{kind, r.path, make(chan zksession.Event, 1)}
	a, err := z.call(ctx, r, w)
	if err != nil {
		z.abandon(w)
		return reply{}, err
	}
	if !z.calls.Start(func() { fired(z.await(w)) }) {
		return reply{}, z.Err()
	}
	return a, nil
}

// abandon forgets a watcher whose caller has given up; its request may still be under way.
func (z *Session) abandon(w *watcher) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.watchers = slices.DeleteFunc(z.watchers, func(other *watcher) bool { return other == w })
}

// await waits for the event that ends a watch.
func (z *Session) await(w *watcher) zksession.Event {
	select {
	case e := <-w.event:
		z.mu.Lock()
		held := z.held
		z.mu.Unlock()
		if held != nil {
			select {
			case <-held:
			case <-z.done:
			}
		}
		return e
	case <-z.done:
		return zksession.Unwatched
	}
}

func (z *Session) Multi(ctx context.Context, ops ...zksession.Op) ([]string, error) {
	r := request{op: OpMulti}
	for i, op := range ops {
		one := request{path: op.Path, version: op.Version, data: slices.Clone(op.Data)}
		switch op.Kind {
		case zksession.OpCheck:
			one.op = OpCheck
		case zksession.OpDelete:
			one.op = OpDelete
		case zksession.OpSet:
			one.op = OpSetData
		case zksession.OpCreate:
			if op.Mode == zksession.Container {
				return nil, &zksession.OpError{Index: i, Err: errors.New("no containers in a transaction")}
			}
			one = z.creation(op.Path, op.Data, op.Mode)
		default:
			return nil, &zksession.OpError{Index: i, Err: fmt.Errorf("no operation of kind %d", op.Kind)}
		}
		r.ops = append(r.ops, one)
	}
	a, err := z.call(ctx, &r, nil)
	if err != nil {
		return nil, err
	}
	created := make([]string, len(ops))
	for i, result := range a.results {
		created[i] = result.path
	}
	return created, nil
}
