package curator_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/ensembles/labtest"
	"locklab/ensembles/labtest/curatortest"
	"locklab/ensembles/labtest/suite"
	"locklab/recipes"
	"locklab/recipes/curator"
	"locklab/recipes/zksession"
	"locklab/workloads/foreign"
)

// shared holds the ensemble of these tests, and the directory of the driver's jar.
var shared struct {
	sync.Mutex
	ensemble *labtest.Shared
	dir      string
}

func TestMain(m *testing.M) {
	code := m.Run()
	if err := errors.Join(shared.ensemble.Close(), os.RemoveAll(shared.dir)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// A world is what a test in both languages needs: an ensemble, and a driver of one recipe.
type world struct {
	t       *testing.T
	servers []string
	driver  *foreign.Driver
	jars    []string // Curator's
	argv    []string // the command that runs the driver with Curator
	path    string   // of this test's lock
	conn    *zk.Conn
	timeout time.Duration // of each session: longer than a busy machine stands still
}

// brief is the session timeout of a test in which a session ends.
const brief = 2 * time.Second

func newWorld(t *testing.T, recipe string) *world {
	t.Helper()
	if testing.Short() {
		t.Skip("needs ZooKeeper")
	}
	jars := curatortest.Require(t, "")
	shared.Lock()
	defer shared.Unlock()
	if shared.ensemble == nil {
		var err error
		if shared.dir, err = os.MkdirTemp("", "locklab-curator-"); err != nil {
			t.Fatal(err)
		}
		shared.ensemble = labtest.StartShared(t)
	}
	jar, err := curator.Build(t.Context(), shared.dir, jars)
	if err != nil {
		t.Fatal(err)
	}
	path := append([]string{jar}, jars...)
	path = append(path, "/usr/share/java/zookeeper.jar", "/usr/share/java/zookeeper-jute.jar")
	w := &world{t: t, jars: jars, servers: shared.ensemble.Servers(), path: "/" + t.Name(),
		timeout: 10 * time.Second}
	w.argv = append([]string{"java", "-cp", strings.Join(path, ":")}, curator.JavaOptions...)
	w.driver, err = foreign.NewDriver(
		foreign.Config{Argv: append(slices.Clone(w.argv), curator.Main, recipe), Stderr: t.Output()},
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.driver.Close)
	if w.conn, _, err = zk.Connect(w.servers, 10*time.Second, zk.WithLogInfo(false)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.conn.Close)
	return w
}

const testTimeout = 60 * time.Second

func (w *world) within() context.Context {
	ctx, cancel := context.WithTimeout(w.t.Context(), testTimeout)
	w.t.Cleanup(cancel)
	return ctx
}

// inJava opens a session in Java.
func (w *world) inJava() *foreign.Session {
	w.t.Helper()
	s, err := w.driver.Open(
		w.within(),
		foreign.SessionConfig{Servers: w.servers, Timeout: w.timeout, Paths: []string{w.path}},
	)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = s.Close(context.WithoutCancel(w.t.Context())) })
	return s
}

// java is a Curator lock on the test's path, in a session of its own.
func (w *world) java(mode string) recipes.Lock {
	return w.inJava().Lock(foreign.LockConfig{Paths: []string{w.path}, Mode: mode})
}

// inGo opens a session in Go.
func (w *world) inGo() *recipes.Session {
	w.t.Helper()
	s, err := recipes.Connect(
		w.within(),
		recipes.SessionConfig{Config: zksession.Config{Servers: w.servers, Timeout: w.timeout}},
	)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = s.Close(context.WithoutCancel(w.t.Context())) })
	return s
}

// golang is a Mutex on the test's path, in a session of its own.
func (w *world) golang() recipes.Lock {
	w.t.Helper()
	s := w.inGo()
	m, err := recipes.NewMutex(recipes.MutexConfig{Session: s, Path: w.path})
	if err != nil {
		w.t.Fatal(err)
	}
	return m
}

// queued waits until the lock's queue is of the given length.
func (w *world) queued(path string, n int) {
	w.t.Helper()
	ctx, tick := w.within(), time.NewTicker(5*time.Millisecond)
	defer tick.Stop()
	for {
		names, _, err := w.conn.Children(path)
		if err == nil && len(names) == n || errors.Is(err, zk.ErrNoNode) && n == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			w.t.Fatalf("%s has %v, %v; want %d", path, names, err, n)
		}
	}
}

func (w *world) acquire(l recipes.Lock) *recipes.Hold {
	w.t.Helper()
	h, err := l.Acquire(w.within())
	if err != nil {
		w.t.Fatal(err)
	}
	return h
}

func (w *world) release(h *recipes.Hold) {
	w.t.Helper()
	if err := h.Release(w.within()); err != nil {
		w.t.Fatal(err)
	}
}

// Two clients in Go and two in Java hand the lock over two thousand times on one path: no two hold it at once, and
// tokens rise from hold to hold.
func TestPingPong(t *testing.T) {
	suite.Nightly(t, "a peer; TestOneQueue has both in one queue")
	w := newWorld(t, "curator-mutex")
	const each = 500
	locks := []recipes.Lock{w.golang(), w.java(""), w.golang(), w.java("")}
	var holders, overlaps atomic.Int64
	var order []string // guarded by the lock under test, and by mu in case that lock fails
	var tokens []int64
	var mu sync.Mutex
	var all sync.WaitGroup
	begun := time.Now()
	for i, l := range locks {
		all.Go(func() {
			for range each {
				h, err := l.Acquire(w.within())
				if err != nil {
					t.Error(err)
					return
				}
				if holders.Add(1) > 1 {
					overlaps.Add(1)
				}
				mu.Lock()
				order, tokens = append(order, []string{"go", "java"}[i%2]), append(tokens, h.Token())
				mu.Unlock()
				holders.Add(-1)
				if err := h.Release(w.within()); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	took := time.Since(begun)
	if n := overlaps.Load(); n > 0 || len(tokens) != each*len(locks) {
		t.Errorf("%d overlaps in %d holds of %d", n, len(tokens), each*len(locks))
	}
	changes := 0
	for i := 1; i < len(tokens); i++ {
		if tokens[i] <= tokens[i-1] {
			t.Fatalf("hold %d in %s has token %d, after %d in %s", i, order[i], tokens[i], tokens[i-1], order[i-1])
		}
		if order[i] != order[i-1] {
			changes++
		}
	}
	if changes < each {
		t.Errorf("the language changed only %d times", changes)
	}
	t.Logf("%d holds in %v, %d times from one language to the other", len(tokens), took.Round(time.Millisecond), changes)
	w.queued(w.path, 0)
}

// Clients are granted the lock in the order in which they queued, in whichever language they are written.
func TestOneQueue(t *testing.T) {
	w := newWorld(t, "curator-mutex")
	first := w.acquire(w.golang())
	const waiters = 8
	granted := make(chan int, waiters)
	next := make(chan struct{})
	var all sync.WaitGroup
	for i := range waiters {
		l := w.java("")
		if i%2 == 1 {
			l = w.golang()
		}
		all.Go(func() {
			h, err := l.Acquire(w.within())
			if err != nil {
				t.Error(err)
				return
			}
			granted <- i
			<-next
			if err := h.Release(w.within()); err != nil {
				t.Error(err)
			}
		})
		w.queued(w.path, i+2)
	}
	w.release(first)
	var order []int
	for range waiters {
		order = append(order, <-granted)
		next <- struct{}{}
	}
	all.Wait()
	if !slices.IsSorted(order) {
		t.Errorf("granted in the order %v", order)
	}
}

// Waiters that give up leave nothing in the queue, and the others are still served.
func TestGivingUp(t *testing.T) {
	w := newWorld(t, "curator-mutex")
	goHold := w.acquire(w.golang())
	java := w.java("")
	timed, cancel := context.WithTimeout(w.within(), 200*time.Millisecond)
	defer cancel()
	if _, err := java.Acquire(timed); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a timed acquire: %v", err)
	}
	w.queued(w.path, 1)
	cancellable, cancel := context.WithCancel(w.within())
	gaveUp := make(chan error, 1)
	go func() {
		_, err := java.Acquire(cancellable)
		gaveUp <- err
	}()
	w.queued(w.path, 2)
	cancel()
	if err := <-gaveUp; !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled acquire: %v", err)
	}
	w.queued(w.path, 1)
	w.release(goHold)
	h := w.acquire(java)
	if h.Token() <= goHold.Token() || h.Session() == 0 || foreign.GrantOf(h).At == 0 {
		t.Errorf("token %d after %d, session %x, %+v", h.Token(), goHold.Token(), h.Session(), foreign.GrantOf(h))
	}
	w.release(h)
	w.queued(w.path, 0)
}

// A JVM that is stopped for longer than its session learns that the session is lost, and so do its holders. It then
// gets a new session.
func TestExpiry(t *testing.T) {
	w := newWorld(t, "curator-mutex")
	w.timeout = brief
	s := w.inJava()
	h := w.acquire(s.Lock(foreign.LockConfig{Paths: []string{w.path}}))
	other := w.golang()
	pid := jvm(t)
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	second := w.acquire(other) // granted once the servers have ended the session
	if h.Context().Err() != nil {
		t.Error("a stopped client heard that its hold is lost")
	}
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	<-h.Context().Done()
	if cause := context.Cause(h.Context()); !errors.Is(cause, recipes.ErrLockLost) ||
		!errors.Is(cause, zksession.ErrSessionExpired) {
		t.Errorf("the hold ended by %v", cause)
	}
	if err := h.Release(w.within()); !errors.Is(err, recipes.ErrLockLost) {
		t.Errorf("released %v", err)
	}
	<-s.Done()
	if err := s.Close(w.within()); err != nil {
		t.Error(err)
	}
	w.release(second)
	third := w.acquire(w.java(""))
	if third.Session() == h.Session() || third.Token() <= second.Token() {
		t.Errorf("session %x after %x, token %d after %d", third.Session(), h.Session(), third.Token(), second.Token())
	}
	w.release(third)
}

// A client that waits while its session expires leaves the queue for good. Left alone, Curator would put it at the end
// of the queue again, in a session of Curator's own that ends with the JVM.
func TestExpiryOfAWaiter(t *testing.T) {
	suite.Nightly(t, "a peer; TestExpiry expires a holder")
	w := newWorld(t, "curator-mutex")
	w.timeout = brief
	held := w.acquire(w.golang())
	waited := make(chan error, 1)
	waiter := w.java("")
	go func() {
		_, err := waiter.Acquire(w.within())
		waited <- err
	}()
	w.queued(w.path, 2)
	pid := jvm(t)
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	w.queued(w.path, 1) // the servers have ended the session
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err := <-waited; !errors.Is(err, zksession.ErrSessionExpired) {
		t.Errorf("the waiter ended by %v", err)
	}
	w.release(held)
	next := w.java("")
	for range 20 {
		w.release(w.acquire(next))
	}
	w.queued(w.path, 0)
}

// jvm returns the id of the one JVM among the processes that this process has started.
func jvm(t *testing.T) int {
	t.Helper()
	list, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, name := range list {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for pid := range strings.FieldsSeq(string(b)) {
			program, err := os.ReadFile(filepath.Join("/proc", pid, "comm"))
			if err != nil {
				t.Fatal(err)
			}
			if strings.TrimSpace(string(program)) == "java" {
				all = append(all, pid)
			}
		}
	}
	if len(all) != 1 {
		t.Fatalf("the JVMs started: %v", all)
	}
	pid, err := strconv.Atoi(all[0])
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// Two readers hold the lock together, and a writer waits for both.
func TestReadersAndWriters(t *testing.T) {
	w := newWorld(t, "curator-rw")
	a, b, c := w.java(foreign.Read), w.java(foreign.Read), w.java(foreign.Write)
	ra, rb := w.acquire(a), w.acquire(b)
	written := make(chan *recipes.Hold, 1)
	go func() {
		h, err := c.Acquire(w.within())
		if err != nil {
			t.Error(err)
		}
		written <- h
	}()
	w.queued(w.path, 3)
	w.release(ra)
	w.queued(w.path, 2)
	select {
	case <-written:
		t.Error("a writer beside a reader")
	default:
	}
	w.release(rb)
	h := <-written
	if h.Token() <= rb.Token() {
		t.Errorf("the writer's token is %d, the reader's %d", h.Token(), rb.Token())
	}
	w.release(h)
	if _, err := w.java(foreign.Permits(1, 2)).Acquire(w.within()); err == nil ||
		!strings.Contains(err.Error(), "no mode of this recipe") {
		t.Errorf("permits of a read/write lock: %v", err)
	}
}

// A semaphore has as many permits as it is configured with.
func TestPermits(t *testing.T) {
	w := newWorld(t, "curator-semaphore")
	two, one, more := w.java(foreign.Permits(2, 3)), w.java(foreign.Permits(1, 3)), w.java(foreign.Permits(2, 3))
	a, b := w.acquire(two), w.acquire(one)
	w.queued(w.path+"/leases", 3)
	timed, cancel := context.WithTimeout(w.within(), 300*time.Millisecond)
	defer cancel()
	if _, err := more.Acquire(timed); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("two of none: %v", err)
	}
	w.queued(w.path+"/leases", 3)
	w.release(a)
	c := w.acquire(more)
	w.release(b)
	w.release(c)
	w.queued(w.path+"/leases", 0)
}

// Several locks are held together, each with its own token, or none is held.
func TestSeveralLocks(t *testing.T) {
	w := newWorld(t, "curator-multi")
	paths := []string{w.path + "/a", w.path + "/b"}
	s := w.inJava()
	both := s.Lock(foreign.LockConfig{Paths: paths})
	h := w.acquire(both)
	if g := foreign.GrantOf(h); len(g.Tokens) != 2 || g.Tokens[0] <= 0 || g.Tokens[1] <= g.Tokens[0] {
		t.Errorf("tokens %v", g.Tokens)
	}
	w.queued(paths[0], 1)
	w.queued(paths[1], 1)
	w.release(h)
	second := w.inJava()
	b := w.acquire(second.Lock(foreign.LockConfig{Paths: paths[1:]}))
	timed, cancel := context.WithTimeout(w.within(), 300*time.Millisecond)
	defer cancel()
	if _, err := both.Acquire(timed); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("both while one is held: %v", err)
	}
	w.queued(paths[0], 0)
	w.release(b)
}

// A semaphore with one permit is a lock whose tokens rise.
func TestSemaphoreMutex(t *testing.T) {
	w := newWorld(t, "curator-semaphore-mutex")
	a, b := w.java(""), w.java("")
	h := w.acquire(a)
	next := make(chan *recipes.Hold, 1)
	go func() {
		h, err := b.Acquire(w.within())
		if err != nil {
			t.Error(err)
		}
		next <- h
	}()
	w.queued(w.path+"/leases", 2)
	w.release(h)
	if second := <-next; second.Token() <= h.Token() {
		t.Errorf("token %d after %d", second.Token(), h.Token())
	} else {
		w.release(second)
	}
}

// When a writer becomes a reader, Curator before 5.5 queues the reader behind the writers that already wait, and the
// first of them gets in beside it (CURATOR-621). Curator from 5.5 on does not.
func TestDowngrade(t *testing.T) {
	w := newWorld(t, "curator-rw")
	s := w.inJava()
	write := w.acquire(s.Lock(foreign.LockConfig{Paths: []string{w.path}, Mode: foreign.Write}))
	queued := make(chan *recipes.Hold, 1)
	go func() {
		h, err := w.java(foreign.Write).Acquire(w.within())
		if err != nil {
			t.Error(err)
		}
		queued <- h
	}()
	w.queued(w.path, 2)
	read, err := s.Downgrade(w.within(), write)
	if err != nil {
		t.Fatal(err)
	}
	w.queued(w.path, 3)
	names, _, err := w.conn.Children(w.path)
	if err != nil {
		t.Fatal(err)
	}
	w.release(write)
	last := slices.MaxFunc(names, func(a, b string) int { return strings.Compare(a[len(a)-10:], b[len(b)-10:]) })
	version, err := curator.Version(w.jars)
	if err != nil || version == "" {
		t.Fatalf("version %q, %v", version, err)
	}
	behind, leaks := strings.Contains(last, "__READ__"), curator.LeaksDowngrades(version)
	if behind != leaks {
		t.Errorf("the reader stands behind the writer: %t, want %t for this version of Curator: %v", behind, leaks, names)
	}
	if behind {
		writer := <-queued // while the reader reads
		if read.Context().Err() != nil {
			t.Error("the reader's hold had ended")
		}
		w.release(writer)
		w.release(read)
	} else {
		if len(queued) > 0 {
			t.Error("a writer beside a reader")
		}
		w.release(read)
		w.release(<-queued)
	}
	w.queued(w.path, 0)
	if _, err := s.Downgrade(w.within(), write); err == nil {
		t.Error("a released write lock was downgraded")
	}
}
