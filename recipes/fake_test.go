package recipes

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"locklab/recipes/internal/tasks"
	"locklab/recipes/zksession"
)

// A fakeService is ZooKeeper's data model without network or time. All its sessions see every write at once. A test
// can lose a request before or after it takes effect.
type fakeService struct {
	mu       sync.Mutex
	zxid     int64
	sessions int64
	nodes    map[string]*fakeNode
	watches  map[string][]*fakeWatch
	lists    map[string][]*fakeWatch // watches on children
	old      bool                    // a server from before container znodes
	modes    map[string]zksession.Mode
}

type fakeNode struct {
	data    []byte
	stat    zksession.Stat
	created int64 // number of children created so far
}

func newFakeService() *fakeService {
	return &fakeService{
		nodes:   map[string]*fakeNode{"/": {}},
		watches: map[string][]*fakeWatch{},
		lists:   map[string][]*fakeWatch{},
		modes:   map[string]zksession.Mode{},
	}
}

// A fakeWatch is one watch, which fires once.
type fakeWatch struct{ events chan zksession.Event }

// A fault is what happens to one request.
type fault int

const (
	pass       fault = iota
	loseBefore       // the request is lost
	loseAfter        // the reply is lost
	expire           // the session expires instead
	expireThen       // the request takes effect, then the session expires and the reply is lost
)

// A fakeSession is a [zksession.ZooKeeper] on a fakeService.
type fakeSession struct {
	svc  *fakeService
	id   int64
	done chan struct{}
	// fault decides about each request; op is create, delete, get, watch, children, list (children with a watch), multi or
	// sync. It may block.
	fault func(op, path string) fault

	mu          sync.Mutex
	err         error
	reconnected chan struct{}
	// disconnected is closed while the session is disconnected.
	disconnected chan struct{}
	silent       time.Time // since when nothing was heard; zero if it is not silent
	counts       map[string]int
	calls        tasks.Set
}

// session starts a Session on the fake service.
func (f *fakeService) session(t *testing.T, faults func(op, path string) fault) (*Session, *fakeSession) {
	return f.sessionUntil(t, AfterTimeout, faults)
}

// sessionUntil is session with another end of its holds.
func (f *fakeService) sessionUntil(
	t *testing.T,
	end HoldsEnd,
	faults func(op, path string) fault,
) (*Session, *fakeSession) {
	f.mu.Lock()
	f.sessions++
	z := &fakeSession{
		svc:          f,
		id:           f.sessions,
		done:         make(chan struct{}),
		reconnected:  make(chan struct{}),
		disconnected: make(chan struct{}),
		fault:        faults,
		counts:       map[string]int{},
	}
	f.mu.Unlock()
	s := newSession(z, nil, end)
	t.Cleanup(func() {
		if err := s.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s, z
}

func (z *fakeSession) ID() int64              { return z.id }
func (z *fakeSession) Timeout() time.Duration { return time.Second }
func (z *fakeSession) Done() <-chan struct{}  { return z.done }

// Heard says that all was well just now, unless the session is silent.
func (z *fakeSession) Heard() time.Time {
	z.mu.Lock()
	defer z.mu.Unlock()
	if !z.silent.IsZero() {
		return z.silent
	}
	return time.Now()
}

// silence makes the service silent from now on, as far as the clock of holds can see, or ends that.
func (z *fakeSession) silence(silent bool) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.silent = time.Time{}
	if silent {
		z.silent = time.Now()
	}
}

func (z *fakeSession) Disconnected() <-chan struct{} {
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.disconnected
}

func (z *fakeSession) Err() error {
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.err
}

func (z *fakeSession) Reconnected() <-chan struct{} {
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.reconnected
}

// disconnect makes the session seem to be disconnected until it is reconnected.
func (z *fakeSession) disconnect() {
	z.mu.Lock()
	defer z.mu.Unlock()
	close(z.disconnected)
}

// reconnect makes the session seem to have been disconnected.
func (z *fakeSession) reconnect() {
	z.mu.Lock()
	defer z.mu.Unlock()
	if !closed(z.disconnected) {
		close(z.disconnected)
	}
	close(z.reconnected)
	z.disconnected, z.reconnected = make(chan struct{}), make(chan struct{})
}

func (z *fakeSession) Await(ctx context.Context) error {
	if ctx.Err() != nil {
		return tasks.Ended(ctx)
	}
	return z.Err()
}

// Close ends the session and deletes its znodes and watches.
func (z *fakeSession) Close(context.Context) error {
	z.end(zksession.ErrSessionClosed)
	z.calls.Wait()
	return nil
}

func (z *fakeSession) end(err error) {
	z.mu.Lock()
	if z.err != nil {
		z.mu.Unlock()
		return
	}
	z.err = err
	z.mu.Unlock()
	z.svc.mu.Lock()
	z.svc.zxid++
	for p, n := range z.svc.nodes {
		if n.stat.Owner == z.id {
			z.svc.drop(p)
		}
	}
	z.svc.mu.Unlock()
	close(z.done)
}

// drop deletes a node. f.mu is held.
func (f *fakeService) drop(p string) {
	delete(f.nodes, p)
	f.fire(p, zksession.Deleted)
	f.fireList(p, zksession.Deleted)
	f.fireList(path.Dir(p), zksession.Changed)
}

// fireList ends the watches on a path's children. f.mu is held.
func (f *fakeService) fireList(p string, e zksession.Event) {
	for _, w := range f.lists[p] {
		w.events <- e
	}
	delete(f.lists, p)
}

// fire ends the watches on a path. f.mu is held.
func (f *fakeService) fire(p string, e zksession.Event) {
	for _, w := range f.watches[p] {
		w.events <- e
	}
	delete(f.watches, p)
}

// do carries out one request, subject to the faults, and returns when it is answered or ctx ends.
func (z *fakeSession) do(ctx context.Context, op, p string, f func() error) error {
	if ctx.Err() != nil {
		return tasks.Ended(ctx)
	}
	answer := make(chan error, 1)
	if !z.calls.Start(func() { answer <- z.run(op, p, f) }) {
		return z.Err()
	}
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return tasks.Ended(ctx)
	}
}

func (z *fakeSession) run(op, p string, f func() error) error {
	what := pass
	if z.fault != nil {
		what = z.fault(op, p)
	}
	if err := z.Err(); err != nil {
		return err
	}
	z.mu.Lock()
	z.counts[op]++
	z.mu.Unlock()
	switch what {
	case loseBefore:
		return zksession.ErrConnectionLoss
	case expire:
		z.end(zksession.ErrSessionExpired)
		return zksession.ErrSessionExpired
	}
	z.svc.mu.Lock()
	err := f()
	z.svc.mu.Unlock()
	switch what {
	case loseAfter:
		return zksession.ErrConnectionLoss
	case expireThen:
		z.end(zksession.ErrSessionExpired)
		return zksession.ErrSessionExpired
	}
	return err
}

// count returns how many requests of a kind were made.
func (z *fakeSession) count(op string) int {
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.counts[op]
}

func (z *fakeSession) Create(ctx context.Context, p string, data []byte, mode zksession.Mode) (string, error) {
	var created string
	err := z.do(ctx, "create", p, func() (err error) {
		if mode == zksession.Container && z.svc.old {
			return zksession.ErrUnimplemented
		}
		z.svc.zxid++
		created, err = z.create(p, data, mode)
		return err
	})
	if err != nil {
		return "", err // the fake may still write to created
	}
	return created, nil
}

// create makes a node in the present transaction. svc.mu is held.
func (z *fakeSession) create(p string, data []byte, mode zksession.Mode) (string, error) {
	dir := z.svc.nodes[path.Dir(p)]
	if dir == nil {
		return "", zksession.ErrNoNode
	}
	n := &fakeNode{data: data, stat: zksession.Stat{Czxid: z.svc.zxid, Mzxid: z.svc.zxid}}
	if mode == zksession.Ephemeral || mode == zksession.EphemeralSequential {
		n.stat.Owner = z.id
	}
	if mode == zksession.EphemeralSequential {
		p = fmt.Sprintf("%s%010d", p, int32(dir.created))
	}
	if z.svc.nodes[p] != nil {
		return "", zksession.ErrNodeExists
	}
	dir.created++
	z.svc.nodes[p], z.svc.modes[p] = n, mode
	z.svc.fireList(path.Dir(p), zksession.Changed)
	return p, nil
}

func (z *fakeSession) Delete(ctx context.Context, p string) error {
	return z.do(ctx, "delete", p, func() error {
		if z.svc.nodes[p] == nil {
			return zksession.ErrNoNode
		}
		z.svc.zxid++
		z.svc.drop(p)
		return nil
	})
}

func (z *fakeSession) Get(ctx context.Context, p string) ([]byte, zksession.Stat, error) {
	var data []byte
	var stat zksession.Stat
	if err := z.do(ctx, "get", p, func() error { return z.svc.read(p, &data, &stat) }); err != nil {
		return nil, zksession.Stat{}, err
	}
	return data, stat, nil
}

func (f *fakeService) read(p string, data *[]byte, stat *zksession.Stat) error {
	n := f.nodes[p]
	if n == nil {
		return zksession.ErrNoNode
	}
	*data, *stat = n.data, n.stat
	return nil
}

func (z *fakeSession) GetW(
	ctx context.Context,
	p string,
	fired func(zksession.Event),
) ([]byte, zksession.Stat, error) {
	var data []byte
	var stat zksession.Stat
	err := z.watched(ctx, "watch", p, z.svc.watches, fired, func() error { return z.svc.read(p, &data, &stat) })
	if err != nil {
		return nil, zksession.Stat{}, err
	}
	return data, stat, nil
}

func (z *fakeSession) ChildrenW(ctx context.Context, p string, fired func(zksession.Event)) ([]string, error) {
	var names []string
	err := z.watched(ctx, "list", p, z.svc.lists, fired, func() error { return z.svc.list(p, &names) })
	if err != nil {
		return nil, err
	}
	return names, nil
}

// watched does a read that sets a watch.
func (z *fakeSession) watched(
	ctx context.Context,
	op, p string,
	watches map[string][]*fakeWatch,
	fired func(zksession.Event),
	read func() error,
) error {
	w := &fakeWatch{make(chan zksession.Event, 1)}
	err := z.do(ctx, op, p, func() error {
		if err := read(); err != nil {
			return err
		}
		watches[p] = append(watches[p], w)
		return nil
	})
	if err != nil {
		// The watch of a request that was not answered ends with the connection.
		z.svc.mu.Lock()
		watches[p] = slices.DeleteFunc(watches[p], func(other *fakeWatch) bool { return other == w })
		if len(watches[p]) == 0 {
			delete(watches, p)
		}
		z.svc.mu.Unlock()
		return err
	}
	if !z.calls.Start(func() {
		select {
		case e := <-w.events:
			fired(e)
		case <-z.done:
			fired(zksession.Unwatched)
		}
	}) {
		return z.Err()
	}
	return nil
}

func (z *fakeSession) Children(ctx context.Context, p string) ([]string, error) {
	var names []string
	err := z.do(ctx, "children", p, func() error { return z.svc.list(p, &names) })
	if err != nil {
		return nil, err
	}
	return names, nil
}

func (f *fakeService) list(p string, names *[]string) error {
	if f.nodes[p] == nil {
		return zksession.ErrNoNode
	}
	*names = f.children(p)
	return nil
}

func (f *fakeService) children(dir string) (names []string) {
	for _, p := range slices.Sorted(maps.Keys(f.nodes)) {
		if rest, ok := strings.CutPrefix(p, strings.TrimSuffix(dir, "/")+"/"); ok && rest != "" &&
			!strings.Contains(rest, "/") {
			names = append(names, rest)
		}
	}
	return names
}

func (z *fakeSession) Sync(ctx context.Context, p string) error {
	return z.do(ctx, "sync", p, func() error { return nil })
}

// ephemerals returns the paths of all ephemeral znodes.
func (f *fakeService) ephemerals() (paths []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for p, n := range f.nodes {
		if n.stat.Owner != 0 {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	return paths
}

// set creates or changes a znode, as an administrator would.
func (f *fakeService) set(p string, data []byte, owner int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.zxid++
	n := f.nodes[p]
	if n == nil {
		n = &fakeNode{stat: zksession.Stat{Czxid: f.zxid, Owner: owner}}
		f.nodes[p] = n
		if dir := f.nodes[path.Dir(p)]; dir != nil {
			dir.created++
		}
		f.fireList(path.Dir(p), zksession.Changed)
	}
	f.change(p, data)
}

// change sets a node's data in the present transaction. f.mu is held.
func (f *fakeService) change(p string, data []byte) {
	n := f.nodes[p]
	n.data, n.stat.Mzxid = data, f.zxid
	n.stat.Version++
	f.fire(p, zksession.Changed)
}

// remove deletes a znode, as an administrator would.
func (f *fakeService) remove(p string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.zxid++
	f.drop(p)
}

// eventually polls a condition until the test's deadline.
func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("timed out before: %s", what)
		}
	}
}

// testTimeout is how long a test waits for something that must happen.
const testTimeout = 30 * time.Second

// within returns a context for something that must happen in time.
func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	t.Cleanup(cancel)
	return ctx
}

// count makes a fault function that applies a fault to the n-th request (from 1) of the given op.
func count(op string, n int, what fault) func(string, string) fault {
	var mu sync.Mutex
	return func(got, _ string) fault {
		mu.Lock()
		defer mu.Unlock()
		if got == op {
			if n--; n == 0 {
				return what
			}
		}
		return pass
	}
}

// everyTenth makes a fault function that loses every tenth request or its reply, in turn.
func everyTenth() func(string, string) fault {
	var requests atomic.Int32
	return func(string, string) fault {
		if n := requests.Add(1); n%10 == 0 {
			return loseBefore + fault(n/10%2)
		}
		return pass
	}
}

// acquiring begins an acquisition. Its hold, nil if it fails, arrives on the channel.
func acquiring(t *testing.T, l Lock) <-chan *Hold {
	ctx, got := within(t), make(chan *Hold, 1)
	go func() {
		h, err := l.Acquire(ctx)
		if err != nil {
			t.Error(err)
		}
		got <- h
	}()
	return got
}
