package recipes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
)

// beyond returns the situations of a family besides those of acquiring and releasing.
func (f family) beyond(base scenario, holder maker) (all []*scenario) {
	tried := base
	tried.situation, tried.act, tried.inTheWay, tried.answers = "try-taken", tryTaken, remembered(held(holder)), true
	all = append(all, &tried)
	if !f.unrevocable {
		holding := base
		holding.situation, holding.act = "revoked", useUntilRevoked
		all = append(all, &holding)
	}
	if !f.unrevocable && !f.permits {
		queueing := base
		queueing.situation, queueing.act, queueing.inTheWay = "revoked-in-the-queue", useRevoked, revokedThen(held(holder))
		all = append(all, &queueing)
	}
	if !f.unguarded {
		writes := base
		writes.situation, writes.act, writes.undecided = "guarded-write", guardedWrite, true
		all = append(all, &writes)
	}
	return all
}

// tryTaken does not get what somebody else holds.
func tryTaken(st *stage) error {
	h, err := st.mine.(TryLock).TryAcquire(st.doing)
	switch {
	case errors.Is(err, ErrNotAcquired):
		return nil
	case err == nil:
		return errors.Join(errors.New("acquired what another holds"), h.Release(st.ctx))
	}
	return err
}

// useUntilRevoked holds until it is asked to leave.
func useUntilRevoked(st *stage) error {
	h, err := st.mine.Acquire(st.doing)
	if err != nil {
		return err
	}
	if st.granted(h, st.sc.mineIsReal) {
		leave := st.believe(h)
		st.contend()
		leave() // a fault from here on may end the hold at the service before the client hears of it
		st.asked(h, st.revokeAll())
	}
	return h.Release(st.doing)
}

// useRevoked is use by one who was asked to leave in the queue: its hold says so from the start, unless it had to
// queue again.
func useRevoked(st *stage) error {
	h, err := st.mine.Acquire(st.doing)
	if err != nil {
		return err
	}
	if st.granted(h, st.sc.mineIsReal) {
		leave := st.believe(h)
		st.contend()
		if !st.forced.Load() && !isRevoked(h) {
			st.t.Error("the hold does not know that it was revoked in the queue")
		}
		leave()
	}
	return h.Release(st.doing)
}

// asked waits until a hold knows that it was asked to leave, by each of its znodes, if it lasts that long.
func (st *stage) asked(h *Hold, nodes []string) {
	st.t.Helper()
	eventually(st.t, "each znode is watched again, or it has ended", func() bool {
		watches, _ := st.waitedFor()
		return h.Context().Err() != nil || st.doing.Err() != nil || watches != nil && st.sawRevoked(watches, nodes)
	})
	select {
	case <-h.Revoked():
	case <-h.Context().Done():
	case <-st.doing.Done():
		if st.ctx.Err() != nil {
			st.t.Error("the hold does not hear that it was revoked")
		}
	}
}

// revokeAll asks the client under test to leave, and returns the znodes by which it was asked.
func (st *stage) revokeAll() []string {
	nodes := st.own()
	for _, node := range nodes {
		if err := st.observer.Revoke(st.ctx, node); err != nil {
			st.t.Errorf("revoke: %v", err)
		}
	}
	return nodes
}

// revokedThen asks the client under test to leave while it waits, and ends what it waits for once it
// has heard of that and waits again.
func revokedThen(inTheWay func(*stage) (func(context.Context) error, error)) func(*stage) (func(context.Context) error, error) {
	return func(st *stage) (func(context.Context) error, error) {
		leave, err := inTheWay(st)
		return func(ctx context.Context) error {
			nodes := st.revokeAll()
			st.waitsAgain(func(watches map[target]*watch) bool { return st.sawRevoked(watches, nodes) })
			return leave(ctx)
		}, err
	}
}

// sawRevoked reports whether these watches are on each of the znodes that are still there, by a read that
// showed the revocation.
func (st *stage) sawRevoked(watches map[target]*watch, nodes []string) bool {
	for _, n := range nodes {
		w := watches[target{path: n}]
		if (w == nil || !isRevocation(w.seen.data)) && slices.Contains(st.own(), n) {
			return false
		}
	}
	return true
}

// waitsAgain waits until the client under test waits for another's znode or a list, its watches being as
// they should, or has ended.
func (st *stage) waitsAgain(should func(map[target]*watch) bool) {
	st.t.Helper()
	eventually(st.t, "it waits again, or has ended", func() bool {
		select {
		case <-st.over:
			return true
		default:
			watches, waits := st.waitedFor()
			return waits && should(watches)
		}
	})
}

// waitedFor returns the watches of the client under test that somebody waits for, and whether all have been
// set, one of them on a list or on another's znode. (A watch that nobody waits for any more
// stays until it fires.)
func (st *stage) waitedFor() (watches map[target]*watch, waits bool) {
	h := st.subject.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	watches = map[target]*watch{}
	for t, w := range h.watches {
		select {
		case <-w.armed:
		default:
			return nil, false
		}
		if len(w.waiters) > 0 {
			watches[t] = w
			waits = waits || t.list || t.path != countOf(st.path) && w.seen.stat.Owner != st.subject.ID()
		}
	}
	return watches, waits
}

// guardedWrite writes once what the lock protects, while it holds.
func guardedWrite(st *stage) error {
	ledger := st.path + "-ledger"
	if err := ensureDir(st.ctx, st.observer.zk, ledger); err != nil {
		return err
	}
	defer func() {
		if err := st.observer.zk.Delete(st.ctx, ledger); err != nil {
			st.t.Error(err)
		}
	}()
	h, err := st.mine.Acquire(st.doing)
	if err != nil {
		return err
	}
	var wrote error
	if st.granted(h, st.sc.mineIsReal) {
		leave := st.believe(h)
		st.contend()
		leave() // as above
		_, wrote = h.Multi(st.doing, Op{Kind: OpSet, Path: ledger, Data: []byte("mine"), Version: AnyVersion})
		st.written(ledger, wrote)
	}
	if err := h.Release(st.doing); err != nil {
		return err
	}
	return wrote
}

// written checks that a write was executed once if it is said to be, and not at all if it is said
// not to be.
func (st *stage) written(ledger string, wrote error) {
	if err := st.observer.zk.Sync(st.ctx, ledger); err != nil {
		st.t.Error(err)
		return
	}
	data, _, err := st.observer.zk.Get(st.ctx, ledger)
	unknown := errors.Is(wrote, ErrConnectionLoss) || errors.Is(wrote, context.Canceled)
	if done := string(data) == "mine"; err != nil || !unknown && done != (wrote == nil) {
		st.t.Errorf("executed: %t, %v; told: %v", done, err, wrote)
	}
}

// sparseMutex makes a mutex that saves lists in every queue, however short.
func sparseMutex(t *testing.T, s *Session, path string, queued func(int)) Lock {
	t.Helper()
	m, err := NewMutex(MutexConfig{Session: s, Path: path, Data: []byte(t.Name()), OnQueued: queued, SparseLists: true})
	if err != nil {
		t.Fatal(err)
	}
	m.line.sparse.long = 0
	return m
}

// remembered has the client under test know who is in the way from an earlier list, if it is one that
// remembers lists.
func remembered(inTheWay func(*stage) (func(context.Context) error, error)) func(*stage) (func(context.Context) error, error) {
	return func(st *stage) (func(context.Context) error, error) {
		leave, err := inTheWay(st)
		if m, ok := st.mine.(*Mutex); ok && m.line.sparse != nil && err == nil {
			err = st.remember(m)
		}
		return leave, err
	}
}

// remember has a mutex see the queue as it is.
func (st *stage) remember(m *Mutex) error {
	znodes, err := st.children(st.path)
	var names []string
	for name := range znodes {
		names = append(names, name)
	}
	m.line.sparse.saw(mutexLayout.queue(names), -1)
	return err
}

// crowded puts three before the client under test, of whom it knows the first from an earlier list. They
// leave in their order, each when the client under test waits for one that is still there.
func crowded(st *stage) (leave func(context.Context) error, err error) {
	join := func(ctx context.Context) (string, error) {
		return st.observer.zk.Create(ctx, fmt.Sprintf("%s/in-the-way-%s", st.path, mutexLayout[0]), nil, EphemeralSequential)
	}
	var crowd [3]string
	for i := range crowd {
		if crowd[i], err = join(st.ctx); err != nil {
			return nil, err
		}
		if i == 0 {
			if err := st.remember(st.mine.(*Mutex)); err != nil {
				return nil, err
			}
		}
	}
	return func(ctx context.Context) error {
		gone := map[string]bool{}
		for _, node := range crowd {
			st.waitsAgain(func(watches map[target]*watch) bool {
				for t := range watches {
					if gone[t.path] {
						return false
					}
				}
				return true
			})
			if err := st.observer.zk.Delete(ctx, node); err != nil {
				return err
			}
			gone[node] = true
		}
		return nil
	}, nil
}
