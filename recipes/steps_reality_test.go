package recipes

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"locklab/recipes/zksession"
)

// settle has the observer send a request until it is answered: the servers may elect a leader during any case. get does
// the same.
func (st *stage) settle(request func(ctx context.Context, node string) error, node string) error {
	_, err := settled(st.ctx, func(ctx context.Context) (struct{}, error) { return struct{}{}, request(ctx, node) })
	return err
}

// sync lets the observer's next reads see whatever is committed.
func (st *stage) sync(node string) error { return st.settle(st.observer.zk.Sync, node) }

// get returns the data and the stat of a znode, as the observer sees them.
func (st *stage) get(node string) (data []byte, stat zksession.Stat, err error) {
	stat, err = settled(st.ctx, func(ctx context.Context) (stat zksession.Stat, err error) {
		data, stat, err = st.observer.zk.Get(ctx, node)
		return stat, err
	})
	return data, stat, err
}

// remove deletes a znode, unless it is gone.
func (st *stage) remove(node string) error {
	err := st.settle(st.observer.zk.Delete, node)
	if errors.Is(err, zksession.ErrNoNode) {
		return nil
	}
	return err
}

// children returns a directory's present znodes, as the observer sees them.
func (st *stage) children(dir string) (map[string]view, error) {
	if err := st.sync(dir); err != nil {
		return nil, err
	}
	return st.observer.inspect(st.ctx, dir, func(string) bool { return true })
}

// queued checks the hold of a lock with a queue. There must be a znode with this mark that the hold's session created
// in the transaction that is the token, and no earlier znode whose name contains blocks.
func queued(mark, blocks string) reality {
	return func(st *stage, h *Hold) error { return st.atTheHead(st.path, mark, blocks, h.Session(), h.Token()) }
}

// atTheHead returns an error if a session has no eligible znode in a directory. A token of 0 matches any.
func (st *stage) atTheHead(dir, mark, blocks string, session, token int64) error {
	znodes, err := st.children(dir)
	if err != nil {
		return err
	}
	number := func(name string) string { return name[len(name)-10:] }
	for name, v := range znodes {
		if v.stat.Owner != session || !strings.Contains(name, mark) || token != 0 && v.stat.Czxid != token {
			continue
		}
		for other := range znodes {
			if number(other) < number(name) && strings.Contains(other, blocks) {
				return fmt.Errorf("%s is before %s", other, name)
			}
		}
		return nil
	}
	return fmt.Errorf("session %x has no znode %s of transaction %x among %v", session, mark, token, znodes)
}

// everyOf checks the hold of a lock that consists of several mutexes.
func everyOf(members ...string) reality {
	return func(st *stage, h *Hold) (err error) {
		for _, m := range members {
			err = errors.Join(err, st.atTheHead(path.Join(st.path, m), "lock-", "", h.Session(), 0))
		}
		return err
	}
}

// theOne checks the hold of a naive mutex.
func theOne(st *stage, h *Hold) error {
	if err := st.sync(st.path); err != nil {
		return err
	}
	_, stat, err := st.get(st.path)
	if err == nil && (stat.Owner != h.Session() || stat.Czxid != h.Token()) {
		err = fmt.Errorf("the znode is of session %x and transaction %x", stat.Owner, stat.Czxid)
	}
	return err
}

// leased checks a hold of n permits of a semaphore.
func leased(n, permits int) reality {
	return func(st *stage, h *Hold) error {
		leases, err := st.children(st.path + "/leases")
		if err != nil {
			return err
		}
		own := 0
		for _, v := range leases {
			if v.stat.Owner == h.Session() && v.stat.Czxid == h.Token() {
				own++
			}
		}
		if own != n || len(leases) > permits {
			return fmt.Errorf("%d leases of %d, %d in use of %d", own, n, len(leases), permits)
		}
		return nil
	}
}

// deleteAll deletes the znodes of the client under test, as an administrator would.
func (st *stage) deleteAll() {
	for _, node := range st.own() {
		if err := st.remove(node); err != nil {
			st.t.Errorf("delete %s: %v", node, err)
		}
	}
}

// own returns the znodes of the client under test.
func (st *stage) own() (nodes []string) {
	if _, stat, err := st.get(st.path); err == nil && stat.Owner == st.subject.ID() {
		nodes = append(nodes, st.path)
	}
	for _, dir := range []string{"", "locks", "leases", "a", "b"} {
		znodes, err := st.children(path.Join(st.path, dir))
		if err != nil {
			st.t.Errorf("list: %v", err)
		}
		for name, v := range znodes {
			if v.stat.Owner == st.subject.ID() {
				nodes = append(nodes, path.Join(st.path, dir, name))
			}
		}
	}
	return nodes
}
