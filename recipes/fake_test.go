package recipes

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"locklab/recipes/zksession"
	"locklab/recipes/zktest"
)

// A fakeService is a service in memory whose sessions expire after a second. A test can lose a request before or after
// it takes effect.
type fakeService struct{ *zktest.Service }

func newFakeService() *fakeService { return &fakeService{zktest.New(zktest.Config{})} }

// A fault is what happens to one request.
type fault int

const (
	pass       fault = iota
	loseBefore       // the request is lost
	loseAfter        // the reply is lost
	expire           // the session expires instead
	expireThen       // the request takes effect, then the session expires and the reply is lost
)

// outcomes are the faults as the service knows them.
var outcomes = map[fault]zktest.Outcome{
	pass:       zktest.Answered,
	loseBefore: zktest.RequestLost,
	loseAfter:  zktest.ReplyLost,
	expire:     zktest.ExpireBefore,
	expireThen: zktest.ExpireAfter,
}

// A fakeSession is a [zksession.ZooKeeper] on a fakeService. It counts the requests.
type fakeSession struct {
	*zktest.Session
	svc *fakeService
	// fault decides about each request; op is create, delete, get, watch, children, list (children with a watch), multi or
	// sync. The path of a multi is those of all operations, each followed by a space. It may block.
	fault func(op, path string) fault

	mu     sync.Mutex
	counts map[string]int
	silent time.Time // since when nothing was heard; zero if it is not silent
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
	z := &fakeSession{svc: f, fault: faults, counts: map[string]int{}}
	z.Session = f.Session(zktest.SessionConfig{Timeout: time.Second, Decide: z.decide})
	s := newSession(z, nil, end, nil)
	s.unwatched = unwatched{} // so that tests of what a client hears need not wait
	t.Cleanup(func() {
		if err := s.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s, z
}

// decide counts a request, and says what happens to it.
func (z *fakeSession) decide(r zktest.Request) zktest.Fault {
	op, p := r.Op.String(), strings.Join(r.Paths, " ")
	switch r.Op {
	case zktest.OpCreate2, zktest.OpCreateContainer:
		op = "create"
	case zktest.OpGetData:
		op = map[bool]string{false: "get", true: "watch"}[r.Watch]
	case zktest.OpGetChildren2:
		op = map[bool]string{false: "children", true: "list"}[r.Watch]
	case zktest.OpMulti:
		p += " "
	}
	what := pass
	if z.fault != nil {
		what = z.fault(op, p)
	}
	if z.Err() == nil {
		z.mu.Lock()
		z.counts[op]++
		z.mu.Unlock()
	}
	return zktest.Fault{Outcome: outcomes[what]}
}

// count returns how many requests of a kind were made.
func (z *fakeSession) count(op string) int {
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.counts[op]
}

// Heard says that all was well just now, unless the session is silent or disconnected.
func (z *fakeSession) Heard() time.Time {
	z.mu.Lock()
	defer z.mu.Unlock()
	if !z.silent.IsZero() {
		return z.silent
	}
	return z.Session.Heard()
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

// disconnect disconnects the session until it is reconnected.
func (z *fakeSession) disconnect() { z.svc.CutOff(z.ID()) }

// reconnect connects the session again, and disconnects it first if it is connected.
func (z *fakeSession) reconnect() {
	z.disconnect()
	z.svc.Restore(z.ID())
}

// end ends the session with an error. If it expires, the client hears of that before it hears that the session's znodes
// were deleted: a server sends both at once, and what comes first is a hold's cause.
func (z *fakeSession) end(err error) {
	if err == zksession.ErrSessionExpired {
		defer z.HoldEvents()()
		z.svc.Expire(z.ID())
		return
	}
	_ = z.Close(context.Background())
}

// ephemerals returns the paths of all ephemeral znodes.
func (f *fakeService) ephemerals() []string { return f.Ephemerals() }

// children returns the names of a znode's children; none if it does not exist.
func (f *fakeService) children(dir string) []string {
	n, _ := f.Node(dir)
	return n.Children
}

// data returns a znode's data.
func (f *fakeService) data(p string) []byte {
	n, _ := f.Node(p)
	return n.Data
}

// watching returns how many sessions watch a znode, and listing how many watch its list of children.
func (f *fakeService) watching(p string) int { return len(f.DataWatchers(p)) }
func (f *fakeService) listing(p string) int  { return len(f.ChildWatchers(p)) }

// set creates or changes a znode, as an administrator would.
func (f *fakeService) set(p string, data []byte, owner int64) {
	if _, err := f.Transact(zktest.AdminOp{Path: p, Data: data, Owner: owner}); err != nil {
		panic(err)
	}
}

// remove deletes a znode, as an administrator would.
func (f *fakeService) remove(p string) { f.Remove(p) }

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
