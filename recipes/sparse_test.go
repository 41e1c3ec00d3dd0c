package recipes

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"locklab/recipes/zksession"
)

const sparseDir = "/locks/a"

// A crowd is a group of contenders that stay in the queue until the test makes them leave.
type crowd struct {
	t   *testing.T
	svc *fakeService
	s   *Session
}

// join adds n contenders to the end of the queue and returns their znodes, in order.
func (c crowd) join(n int) []string {
	c.t.Helper()
	var nodes []string
	for range n {
		node, err := c.s.zk.Create(
			within(c.t),
			path.Join(sparseDir, protectedPrefix(uuid.NewString(), mutexLayout[0])),
			nil,
			zksession.EphemeralSequential,
		)
		if err != nil {
			c.t.Fatal(err)
		}
		nodes = append(nodes, node)
	}
	return nodes
}

// leave deletes znodes, in the given order.
func (c crowd) leave(nodes ...string) {
	c.t.Helper()
	for _, node := range nodes {
		if err := c.s.zk.Delete(within(c.t), node); err != nil {
			c.t.Fatal(err)
		}
	}
}

// queue returns the contenders in the order of the queue.
func (c crowd) queue() []contender {
	c.t.Helper()
	names, err := c.s.zk.Children(within(c.t), sparseDir)
	if err != nil {
		c.t.Fatal(err)
	}
	return mutexLayout.queue(names)
}

// A sparseRun is an attempt that knows the queue. It stands behind a crowd and before one other contender, and it has
// a hint of the last of the crowd.
type sparseRun struct {
	crowd
	z       *fakeSession
	lock    *Mutex
	known   []string // contenders ahead that are in the remembered list
	unknown []string // contenders ahead that came after that list
	lists   int      // lists requested so far
	held    chan *Hold
	failed  chan error
}

// startSparse creates that situation, then sets the faults and starts the attempt.
func startSparse(t *testing.T, unknown int, faults func(r *sparseRun, op, path string) fault) *sparseRun {
	t.Helper()
	svc := newFakeService()
	r := &sparseRun{held: make(chan *Hold, 1), failed: make(chan error, 1)}
	var armed atomic.Bool
	s, z := svc.session(t, func(op, path string) fault {
		if !armed.Load() || faults == nil {
			return pass
		}
		return faults(r, op, path)
	})
	other, _ := svc.session(t, nil)
	r.crowd, r.z = crowd{t, svc, other}, z
	var err error
	if r.lock, err = NewMutex(MutexConfig{Session: s, Path: sparseDir, SparseLists: true}); err != nil {
		t.Fatal(err)
	}
	if err := ensureDir(within(t), other.zk, sparseDir); err != nil {
		t.Fatal(err)
	}
	first := r.join(1)
	go r.acquire()
	eventually(t, "the attempt queues", func() bool { return len(r.queue()) == 2 })
	r.known = r.join(longQueue + 1)
	r.leave(first...)
	h := r.outcome(t)
	r.unknown = r.join(unknown)
	if err := h.Release(within(t)); err != nil {
		t.Fatal(err)
	}
	r.lists = r.count("children")
	armed.Store(true)
	go r.acquire()
	return r
}

func (r *sparseRun) acquire() {
	h, err := r.lock.Acquire(within(r.t))
	if err != nil {
		r.failed <- err
		return
	}
	r.held <- h
}

// outcome waits for the hold, and checks that its znode is the head of the queue.
func (r *sparseRun) outcome(t *testing.T) *Hold {
	t.Helper()
	select {
	case h := <-r.held:
		if q := r.queue(); len(q) == 0 || q[0].name != h.place.name {
			t.Errorf("%s holds, and the queue begins with %v", h.place.name, q[:min(len(q), 2)])
		}
		return h
	case err := <-r.failed:
		t.Fatal(err)
		return nil
	}
}

func (r *sparseRun) count(op string) int {
	r.z.mu.Lock()
	defer r.z.mu.Unlock()
	return r.z.counts[op]
}

// watched waits until our session watches the znode.
func (r *sparseRun) watched(node string) {
	r.t.Helper()
	eventually(r.t, "a watch on "+node, func() bool { return r.svc.watching(node) > 0 })
}

// ours waits until the attempt is in the queue, and returns its znode.
func (r *sparseRun) ours() string {
	r.t.Helper()
	node := ""
	eventually(r.t, "the attempt queues", func() bool {
		for _, c := range r.queue() {
			n := path.Join(sparseDir, c.name)
			if !slices.Contains(r.known, n) && !slices.Contains(r.unknown, n) {
				node = n
				return true
			}
		}
		return false
	})
	return node
}

// An attempt that remembers the queue lists it once, near its head. It does not list it at all if the contender ahead
// of it has gone. It gets the hold when all contenders ahead have gone.
func TestSparseLists(t *testing.T) {
	for unknown := 1; unknown <= nearHead; unknown++ {
		t.Run(fmt.Sprint(unknown), func(t *testing.T) {
			r := startSparse(t, unknown, nil)
			r.ours()
			behind := r.join(longQueue)
			r.watched(r.known[len(r.known)-1])
			if n := r.count("children") - r.lists; n != 0 {
				t.Errorf("%d lists while the remembered contender waits", n)
			}
			r.leave(r.known...)
			for _, node := range r.unknown {
				select {
				case h := <-r.held:
					t.Fatalf("token %d before %s had gone", h.Token(), node)
				default:
				}
				r.leave(node)
			}
			h := r.outcome(t)
			if n := r.count("children") - r.lists; n > 1 {
				t.Errorf("%d lists", n)
			}
			if err := h.Release(within(t)); err != nil {
				t.Error(err)
			}
			r.leave(behind...)
		})
	}
}

// A contender ahead that gives up does not let us hold before the others.
func TestSparseListsGivingUp(t *testing.T) {
	r := startSparse(t, 3, nil)
	r.ours()
	r.join(longQueue)
	r.leave(r.known...)
	r.watched(r.unknown[1])
	r.leave(r.unknown[2], r.unknown[1])
	r.watched(r.unknown[0])
	select {
	case <-r.held:
		t.Fatal("held behind a contender")
	default:
	}
	r.leave(r.unknown[0])
	if err := r.outcome(t).Release(within(t)); err != nil {
		t.Error(err)
	}
}

// If our znode is deleted before it reaches the head, it never becomes a hold, because the last read of it finds it
// gone.
func TestSparseListsOwnNodeDeleted(t *testing.T) {
	var first atomic.Bool
	var deleted atomic.Pointer[string]
	r := startSparse(t, 1, func(r *sparseRun, op, node string) fault {
		if op == "get" && first.CompareAndSwap(false, true) {
			deleted.Store(&node)
			r.leave(node)
		}
		return pass
	})
	r.ours()
	r.join(longQueue)
	r.leave(r.known...)
	r.watched(r.unknown[0])
	r.leave(r.unknown...)
	eventually(t, "the last look", func() bool { return deleted.Load() != nil })
	eventually(t, "the attempt to start over", func() bool { return len(r.queue()) == longQueue+1 })
	for _, c := range r.queue()[:longQueue] {
		r.leave(path.Join(sparseDir, c.name))
	}
	h := r.outcome(t)
	if path.Join(sparseDir, h.place.name) == *deleted.Load() {
		t.Error("holds by a znode that was deleted before it was eligible")
	}
}

// After a reconnect the order of events proves nothing, so the client lists the queue again.
func TestSparseListsReconnect(t *testing.T) {
	var first atomic.Bool
	r := startSparse(t, 1, func(r *sparseRun, op, _ string) fault {
		if op == "get" && first.CompareAndSwap(false, true) {
			r.z.reconnect()
		}
		return pass
	})
	r.ours()
	r.join(longQueue)
	r.leave(r.known...)
	r.watched(r.unknown[0])
	lists := r.count("children")
	r.leave(r.unknown...)
	if err := r.outcome(t).Release(within(t)); err != nil {
		t.Error(err)
	}
	if !first.Load() || r.count("children") == lists {
		t.Error("granted without a list after a reconnect")
	}
}

// Each request of such an attempt fails in every way, while the queue ahead of it empties.
func TestSparseListsEveryRequestLost(t *testing.T) {
	for _, what := range []fault{loseBefore, loseAfter, expire, expireThen} {
		for n := int32(1); ; n++ {
			var requests atomic.Int32
			r := startSparse(t, 2, func(*sparseRun, string, string) fault {
				if requests.Add(1) == n {
					return what
				}
				return pass
			})
			for _, node := range append(r.known, r.unknown...) {
				r.leave(node)
			}
			name := fmt.Sprintf("fault %d of request %d", what, n)
			select {
			case h := <-r.held:
				if err := h.Release(within(t)); err != nil && !errors.Is(err, ErrLockLost) {
					t.Errorf("%s: release: %v", name, err)
				}
			case err := <-r.failed:
				if (what != expire && what != expireThen) || !errors.Is(err, zksession.ErrSessionExpired) {
					t.Errorf("%s: %v", name, err)
				}
			}
			eventually(t, name+": nothing left behind", func() bool { return len(r.queue()) == 0 })
			if requests.Load() < n {
				if n < 5 {
					t.Errorf("%s: the fault was never injected", name)
				}
				break
			}
		}
	}
}

// An attempt that gives up while it waits for the remembered contender leaves nothing behind.
func TestSparseListsCancelled(t *testing.T) {
	r := startSparse(t, 1, nil)
	ours := r.ours()
	r.leave(r.unknown...)
	for _, node := range r.known {
		if node != r.known[len(r.known)-1] {
			r.leave(node)
		}
	}
	ctx, cancel := context.WithCancel(within(t))
	second := make(chan error, 1)
	go func() {
		_, err := r.lock.Acquire(ctx)
		second <- err
	}()
	eventually(t, "both queue", func() bool { return len(r.queue()) == 3 })
	cancel()
	if err := <-second; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	eventually(t, "the attempt's znode is gone", func() bool { return len(r.queue()) == 2 })
	r.leave(r.known[len(r.known)-1])
	if h := r.outcome(t); path.Join(sparseDir, h.place.name) != ours {
		t.Errorf("%s holds, want %s", h.place.name, ours)
	}
}

// A contender that came after ours is not a hint, because it may be waiting for us.
func TestSparseHint(t *testing.T) {
	s := sparse{long: longQueue}
	queue := make([]string, longQueue+1)
	for i := range queue {
		queue[i] = fmt.Sprintf("lock-%010d", i)
	}
	last := int64(longQueue)
	s.saw(mutexLayout, queue, queue[0])
	for seq, want := range map[int64]bool{last - 1: false, last: false, last + 1: true} {
		if _, ok := s.hint(contender{seq: seq}); ok != want {
			t.Errorf("hint for %d with %d the last known: %t", seq, last, ok)
		}
	}
	exhausted := append(queue[:longQueue:longQueue], "lock--000000001")
	for name, forget := range map[string]func(){
		"a short queue":        func() { s.saw(mutexLayout, queue[:longQueue], queue[0]) },
		"we ourselves, at end": func() { s.saw(mutexLayout, queue, queue[longQueue]) },
		"an exhausted number":  func() { s.saw(mutexLayout, exhausted, queue[0]) },
	} {
		s.saw(mutexLayout, queue, queue[0])
		forget()
		if _, ok := s.hint(contender{seq: last + 1}); ok {
			t.Errorf("a hint after %s", name)
		}
	}
}

// TryAcquire does not wait for the remembered contender either.
func TestSparseListsTry(t *testing.T) {
	svc := newFakeService()
	s, z := svc.session(t, nil)
	other, _ := svc.session(t, nil)
	if err := ensureDir(within(t), other.zk, sparseDir); err != nil {
		t.Fatal(err)
	}
	c := crowd{t, svc, other}
	c.join(1)
	m := sparseMutex(t, s, sparseDir, nil).(*Mutex)
	m.line.sparse.saw(mutexLayout, []string{c.queue()[0].name}, "")
	ctx, cancel := context.WithCancel(within(t))
	defer cancel()
	failed := make(chan error, 1)
	go func() {
		_, err := m.TryAcquire(ctx)
		failed <- err
	}()
	eventually(t, "the attempt lists the queue, or watches another znode", func() bool {
		z.mu.Lock()
		defer z.mu.Unlock()
		return z.counts["children"] > 0 || waiting(s, "")
	})
	if waiting(s, "") {
		cancel()
	}
	if err := <-failed; !errors.Is(err, ErrNotAcquired) {
		t.Error(err)
	}
}
