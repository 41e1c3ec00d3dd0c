package recipes

import (
	"context"
	"errors"
	"slices"

	"locklab/recipes/zksession"
)

// beyond returns a family's situations other than acquiring and releasing.
func (f family) beyond(base scenario, holder maker) (all []*scenario) {
	tried := base
	tried.situation, tried.act, tried.inTheWay, tried.answers = "try-taken", tryTaken, held(holder), true
	all = append(all, &tried)
	if !f.unrevocable {
		holding := base
		holding.situation, holding.act = "revoked", useUntilRevoked
		all = append(all, &holding)
	}
	if !f.unrevocable && !f.permits {
		queueing := base
		queueing.situation, queueing.act, queueing.inTheWay = "revoked-in-the-queue", useRevoked, revokedThen(held(holder))
		queueing.watchful = true
		all = append(all, &queueing)
	}
	if !f.unguarded {
		writes := base
		writes.situation, writes.act, writes.undecided = "guarded-write", guardedWrite, true
		all = append(all, &writes)
	}
	return all
}

// tryTaken tries to acquire a lock that another client holds, and must not get it.
func tryTaken(st *stage) error {
	h, err := st.mine.(TryLock).TryAcquire(st.doing)
	switch {
	case errors.Is(err, ErrNotAcquired):
		return nil
	case err == nil:
		return errors.Join(errors.New("acquired a lock that another client holds"), h.Release(st.ctx))
	}
	return err
}

// useUntilRevoked holds the lock until it is asked to leave.
func useUntilRevoked(st *stage) error {
	h, err := st.mine.Acquire(st.doing)
	if err != nil {
		return err
	}
	if st.granted(h, st.sc.mineIsReal) {
		leave := st.believe(h)
		st.contend()
		leave() // a fault from here on may end the hold at the service before the client hears of it
		st.rests = true
		reconnect := st.disturb()
		nodes := st.revokeAll()
		reconnect()
		st.asked(h, nodes)
	}
	return h.Release(st.doing)
}

// useRevoked acquires the lock after it was asked to leave in the queue. Its hold is revoked from the start, unless
// the client had to queue again.
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

// asked waits until a hold has seen at each of its znodes that it was asked to leave, or has ended.
func (st *stage) asked(h *Hold, nodes []string) {
	st.t.Helper()
	eventually(st.t, "each znode is watched again, or the hold has ended", func() bool {
		watches, _ := st.waitedFor()
		return h.Context().Err() != nil || st.doing.Err() != nil || watches != nil && st.sawRevoked(watches, nodes)
	})
	select {
	case <-h.Revoked():
	case <-h.Context().Done():
	case <-st.doing.Done():
		if st.ctx.Err() != nil {
			st.t.Error("the hold has not heard that it was revoked")
		}
	}
}

// revokeAll asks the client under test to leave, and returns the znodes at which it asked.
func (st *stage) revokeAll() []string {
	nodes := st.own()
	for _, node := range nodes {
		if err := st.observer.Revoke(st.ctx, node); err != nil {
			st.t.Errorf("revoke: %v", err)
		}
	}
	return nodes
}

// revokedThen asks the client under test to leave while it waits. When the client has heard of that and waits again,
// revokedThen ends what it waits for.
func revokedThen(
	inTheWay func(*stage) (func(context.Context) error, error),
) func(*stage) (func(context.Context) error, error) {
	return func(st *stage) (func(context.Context) error, error) {
		leave, err := inTheWay(st)
		return func(ctx context.Context) error {
			nodes := st.revokeAll()
			st.reconnect()
			st.waitsAgain(func(watches map[target]*watch) bool { return st.sawRevoked(watches, nodes) })
			return leave(ctx)
		}, err
	}
}

// sawRevoked reports whether there is a watch on each of the znodes that still exist, set by a read that showed the
// revocation.
func (st *stage) sawRevoked(watches map[target]*watch, nodes []string) bool {
	for _, n := range nodes {
		w := watches[target{path: n}]
		if (w == nil || !isRevocation(w.seen.data)) && slices.Contains(st.own(), n) {
			return false
		}
	}
	return true
}

// waitsAgain waits until the client under test has ended, or waits for another client's znode or a list with watches
// that satisfy a condition.
func (st *stage) waitsAgain(should func(map[target]*watch) bool) {
	st.t.Helper()
	eventually(st.t, "the client waits again, or has ended", func() bool {
		select {
		case <-st.over:
			return true
		default:
			// Of the reads of a succession, nobody awaits the answers: see [zksession.ZooKeeper.Succeed].
			watches, waits := st.waitedFor()
			return waits && should(watches) && st.w.Idle()
		}
	})
}

// waitedFor returns the watches that the client under test waits for. It also reports whether all its watches have
// been set, one of them on a list or on another client's znode. (A watch that is no longer waited for stays until it
// fires.)
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

// guardedWrite makes one guarded write while it holds the lock.
func guardedWrite(st *stage) error {
	ledger := st.path + "-ledger"
	if err := ensureDir(st.ctx, st.observer.zk, ledger); err != nil {
		return err
	}
	defer func() {
		if err := st.remove(ledger); err != nil {
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
		leave() // as in useUntilRevoked
		_, wrote = h.Multi(
			st.doing,
			zksession.Op{Kind: zksession.OpSet, Path: ledger, Data: []byte("mine"), Version: zksession.AnyVersion},
		)
		st.written(ledger, wrote)
	}
	if err := h.Release(st.doing); err != nil {
		return err
	}
	return wrote
}

// written checks that a write was executed once if the client was told so, and not at all if it was told that the
// write failed.
func (st *stage) written(ledger string, wrote error) {
	if err := st.sync(ledger); err != nil {
		st.t.Error(err)
		return
	}
	data, _, err := st.get(ledger)
	unknown := errors.Is(wrote, zksession.ErrConnectionLoss) || errors.Is(wrote, context.Canceled)
	if done := string(data) == "mine"; err != nil || !unknown && done != (wrote == nil) {
		st.t.Errorf("executed: %t, %v; the client was told: %v", done, err, wrote)
	}
}
