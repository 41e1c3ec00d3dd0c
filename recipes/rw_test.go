package recipes

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"locklab/recipes/zksession"
)

// A readWriter is one of the read/write locks.
type readWriter interface {
	Read() TryLock
	Write() TryLock
}

var rwMakers = map[string]func(RWConfig) (readWriter, error){
	"rw":       func(cfg RWConfig) (readWriter, error) { return NewRW(cfg) },
	"fair-rw":  func(cfg RWConfig) (readWriter, error) { return NewFairRW(cfg) },
	"naive-rw": func(cfg RWConfig) (readWriter, error) { return NewNaiveRW(cfg) },
}

func newRW(t *testing.T, recipe string, s *Session, queued func(int)) readWriter {
	t.Helper()
	rw, err := rwMakers[recipe](RWConfig{Session: s, Path: "/locks/a", OnQueued: queued})
	if err != nil {
		t.Fatal(err)
	}
	return rw
}

// side returns one of the two locks.
func side(rw readWriter, write bool) Lock {
	if write {
		return rw.Write()
	}
	return rw.Read()
}

// An rwRecord counts the clients that hold the lock at the same time, by mode.
type rwRecord struct {
	mu               sync.Mutex
	readers, writers int
	mostReaders      int
	token            int64 // the last writer's token
}

// enter records a grant. Its result is called before the release of that grant.
func (r *rwRecord) enter(t *testing.T, name string, write bool, h *Hold) (leave func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h.Context().Err() == nil && (r.writers > 0 || write && r.readers > 0) {
		t.Errorf("%s: write=%t gets in beside %d readers and %d writers", name, write, r.readers, r.writers)
	}
	if h.Token() <= r.token {
		t.Errorf("%s: write=%t: token %d after a writer's %d", name, write, h.Token(), r.token)
	}
	if write {
		r.token = h.Token()
		r.writers++
	} else {
		r.readers++
		r.mostReaders = max(r.mostReaders, r.readers)
	}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if write {
			r.writers--
		} else {
			r.readers--
		}
	}
}

func (r *rwRecord) use(
	ctx context.Context,
	t *testing.T,
	name string,
	rw readWriter,
	write bool,
	section func(),
) error {
	h, err := side(rw, write).Acquire(ctx)
	if err != nil {
		return err
	}
	leave := r.enter(t, name, write, h)
	if section != nil {
		section()
	}
	leave()
	return h.Release(ctx)
}

func TestBlockers(t *testing.T) {
	children := []string{
		"a-__READ__0000000001",
		"b-__READ__0000000002",
		"c-__WRIT__0000000003",
		"d-__READ__0000000003", // c's reader, after its downgrade
		"e-__READ__0000000004",
		"f-__WRIT__0000000005",
		"g-__WRIT__0000000006",
		"h-__READ__0000000007",
		"lock-0000000000", // not a contender
		"x-__READ__1",
		"y-__READ__2147483647", // its number is exhausted, so it is last
		"z-__WRIT__0000000008",
	}
	queue := rwLayout.queue(children)
	for own, want := range []struct {
		name         string
		reader, none int
	}{
		{"a-__READ__0000000001", -1, -1},
		{"b-__READ__0000000002", -1, 0},
		{"c-__WRIT__0000000003", -1, 1},
		{"d-__READ__0000000003", 2, 2},
		{"e-__READ__0000000004", 2, 3},
		{"f-__WRIT__0000000005", 2, 4},
		{"g-__WRIT__0000000006", 5, 5},
		{"h-__READ__0000000007", 6, 6},
		{"z-__WRIT__0000000008", 6, 7},
		{"y-__READ__2147483647", 8, 8},
	} {
		if queue[own].name != want.name {
			t.Fatalf("%d is %s, want %s", own, queue[own].name, want.name)
		}
		for who, want := range map[string]struct {
			blocks rule
			last   int
		}{"reader": {everyWriter, want.reader}, "writer": {everybody, want.none}} {
			at := rwLayout.stand(children, queue[own], want.blocks)
			if !at.there || at.blocked() != (want.last >= 0) || at.blocked() && at.block != queue[want.last] {
				t.Errorf("%s as a %s: %+v, want it to wait for contender %d", queue[own].name, who, at, want.last)
			}
			if got := at.ahead(rwLayout, children); got != want.last+1 {
				t.Errorf("%s as a %s: %d ahead, want %d", queue[own].name, who, got, want.last+1)
			}
		}
	}
	if at := rwLayout.stand(children[1:], queue[0], everybody); at.there || at.blocked() {
		t.Errorf("a contender that is not in the list: %+v", at)
	}
}

// Each request of a read or write acquisition and its release fails in every way, with nobody, a reader or a writer
// ahead.
func TestRWEveryRequestLost(t *testing.T) {
	for recipe := range rwMakers {
		for _, write := range []bool{false, true} {
			for _, before := range []string{"", "read", "write"} {
				for _, what := range []fault{loseBefore, loseAfter, expire, expireThen} {
					for n := 1; ; n++ {
						name := fmt.Sprintf("%s/write=%t/before=%s/fault=%d/request=%d", recipe, write, before, what, n)
						if !rwWithFault(t, name, recipe, write, before, what, n) {
							if n < 4 {
								t.Errorf("%s: the fault was never injected", name)
							}
							break
						}
					}
				}
			}
		}
	}
}

// nth makes a fault function that applies a fault to the n-th of all requests. Its second result reports whether
// there was such a request.
func nth(n int, what fault) (faults func(op, path string) fault, injected func() bool) {
	var requests atomic.Int32
	return func(string, string) fault {
		if requests.Add(1) == int32(n) {
			return what
		}
		return pass
	}, func() bool { return requests.Load() >= int32(n) }
}

func rwWithFault(t *testing.T, name, recipe string, write bool, before string, what fault, n int) bool {
	svc := newFakeService()
	faults, injected := nth(n, what)
	s, z := svc.session(t, faults)
	other, _ := svc.session(t, nil)
	theirs := newRW(t, recipe, other, nil)
	var record rwRecord
	ctx := within(t)
	done := make(chan error, 1)
	if before == "" {
		done <- record.use(ctx, t, name, newRW(t, recipe, s, nil), write, nil)
	} else {
		h, err := side(theirs, before == "write").Acquire(ctx)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		leave := record.enter(t, name, before == "write", h)
		queued := make(chan struct{})
		var once sync.Once
		mine := newRW(t, recipe, s, func(ahead int) {
			if want := before == "write" || write; (ahead == 1) != want {
				t.Errorf("%s: %d ahead", name, ahead)
			}
			once.Do(func() { close(queued) })
		})
		go func() { done <- record.use(ctx, t, name, mine, write, nil) }()
		select {
		case <-queued:
		case <-s.Done():
		}
		leave()
		if err := h.Release(ctx); err != nil {
			t.Errorf("%s: release of the one before: %v", name, err)
		}
	}
	checkOutcome(t, name, <-done, z, injected() && (what == expire || what == expireThen))
	if err := record.use(ctx, t, name, theirs, true, nil); err != nil {
		t.Errorf("%s: next: %v", name, err)
	}
	eventually(t, name+": nothing left behind", func() bool { return len(svc.ephemerals()) == 0 })
	return injected()
}

// checkOutcome judges the error of a client when one of its requests may have ended its session.
func checkOutcome(t *testing.T, name string, err error, z *fakeSession, expired bool) {
	t.Helper()
	switch {
	case !expired || z.Err() == nil:
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	case err == nil:
		// The session expired right after the very last request took effect. In no other case may the client succeed.
	case !errors.Is(err, zksession.ErrSessionExpired) && !errors.Is(err, ErrLockLost):
		// The znodes of the session go with it, and a client that holds may hear of that first.
		t.Errorf("%s: %v, want ErrSessionExpired or ErrLockLost", name, err)
	}
}

// The context of a reader or writer behind a writer ends at each of its requests, and nothing is left behind.
func TestRWCancelledAtEveryRequest(t *testing.T) {
	for recipe := range rwMakers {
		for _, write := range []bool{false, true} {
			for n := 1; ; n++ {
				name := fmt.Sprintf("%s/write=%t/request=%d", recipe, write, n)
				svc := newFakeService()
				other, _ := svc.session(t, nil)
				h, err := newRW(t, recipe, other, nil).Write().Acquire(within(t))
				if err != nil {
					t.Fatal(err)
				}
				reached, proceed := make(chan struct{}), make(chan struct{})
				var requests atomic.Int32
				s, _ := svc.session(t, func(op, _ string) fault {
					if requests.Add(1) == int32(n) {
						close(reached)
						<-proceed
					}
					return pass
				})
				ctx, cancel := context.WithCancel(within(t))
				done := make(chan error, 1)
				go func() { _, err := side(newRW(t, recipe, s, nil), write).Acquire(ctx); done <- err }()
				over := false
				waits := func() bool { // all its requests have been sent
					// Two watches are on the clients' own znodes. The waiter also watches the holder's znode, or the
					// directory.
					directory := svc.listing("/locks/a")
					return len(svc.Watched()) == 2+directory &&
						(svc.watching(h.place.path()) == 2 || recipe == "naive-rw" && directory == 1)
				}
				eventually(t, name+": reached or waiting", func() bool {
					select {
					case <-reached:
						return true
					default:
						over = waits() && int(requests.Load()) < n
						return over
					}
				})
				cancel()
				if err := <-done; !errors.Is(err, context.Canceled) {
					t.Errorf("%s: %v", name, err)
				}
				close(proceed)
				eventually(t, name+": only the holder is left", func() bool { return len(svc.ephemerals()) == 1 })
				if err := h.Release(within(t)); err != nil {
					t.Error(err)
				}
				if over {
					if n < 4 {
						t.Errorf("%s: too few requests", name)
					}
					break
				}
			}
		}
	}
}

// Readers hold together, a writer behind them waits for all of them, and a reader behind the writer waits for it.
func TestRWQueue(t *testing.T) {
	for recipe := range rwMakers {
		svc := newFakeService()
		s, _ := svc.session(t, nil)
		queued := make(chan int, 1)
		rw := newRW(t, recipe, s, func(ahead int) { queued <- ahead })
		var readers []*Hold
		for range 3 {
			h, err := rw.Read().Acquire(within(t))
			if err != nil {
				t.Fatal(err)
			}
			if ahead := <-queued; ahead != 0 {
				t.Errorf("%s: a reader has %d ahead", recipe, ahead)
			}
			readers = append(readers, h)
		}
		order := make(chan string, 3)
		got := make(chan *Hold)
		wait := func(write bool, want int) {
			go func() {
				h, err := side(rw, write).Acquire(within(t))
				if err != nil {
					t.Errorf("%s: %v", recipe, err)
				}
				order <- fmt.Sprintf("write=%t", write)
				got <- h
			}()
			if ahead := <-queued; ahead != want {
				t.Errorf("%s: write=%t has %d ahead, want %d", recipe, write, ahead, want)
			}
		}
		wait(true, 3)
		wait(false, 4)
		wait(false, 4) // the reader ahead does not count
		for _, h := range readers {
			if len(order) > 0 {
				t.Errorf("%s: %s is in beside a reader", recipe, <-order)
			}
			if err := h.Release(within(t)); err != nil {
				t.Error(err)
			}
		}
		if first := <-order; first != "write=true" {
			t.Errorf("%s: first is %s", recipe, first)
		}
		if err := (<-got).Release(within(t)); err != nil {
			t.Error(err)
		}
		a, b := <-got, <-got // both at once
		for _, h := range []*Hold{a, b} {
			if err := h.Release(within(t)); err != nil {
				t.Error(err)
			}
		}
	}
}

// Many readers and writers use the lock while every tenth request is lost.
func TestRWManyGoroutinesUnderLoss(t *testing.T) {
	for recipe := range rwMakers {
		svc := newFakeService()
		lossy := everyTenth()
		var record rwRecord
		var wg sync.WaitGroup
		for range 3 {
			s, _ := svc.session(t, lossy)
			rw := newRW(t, recipe, s, nil)
			for i := range 6 {
				wg.Go(func() {
					for range 8 {
						if err := record.use(within(t), t, recipe, rw, i == 0, nil); err != nil {
							t.Errorf("%s: %v", recipe, err)
						}
					}
				})
			}
		}
		wg.Wait()
		eventually(t, recipe+": nothing left behind", func() bool { return len(svc.ephemerals()) == 0 })
	}
}

func TestUpgradeIsRefused(t *testing.T) {
	for recipe := range rwMakers {
		svc := newFakeService()
		s, _ := svc.session(t, nil)
		other, _ := svc.session(t, nil)
		rw := newRW(t, recipe, s, nil)
		h, err := rw.Read().Acquire(within(t))
		if err != nil {
			t.Fatal(err)
		}
		inside, cancel := context.WithTimeout(h.Context(), testTimeout)
		defer cancel()
		// Another value of the same lock refuses it too.
		if _, err := newRW(t, recipe, s, nil).Write().Acquire(inside); !errors.Is(err, ErrUpgrade) {
			t.Errorf("%s: %v", recipe, err)
		}
		if again, err := rw.Read().Acquire(inside); err != nil {
			t.Errorf("%s: another read lock: %v", recipe, err)
		} else if err := again.Release(within(t)); err != nil {
			t.Error(err)
		}
		// Another session is another client, which may wait as long as it likes.
		waiting, stop := context.WithCancel(inside)
		theirs := newRW(t, recipe, other, func(int) { stop() })
		if _, err := theirs.Write().Acquire(waiting); errors.Is(err, ErrUpgrade) || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", recipe, err)
		}
		after := context.WithoutCancel(inside)
		if err := h.Release(within(t)); err != nil {
			t.Error(err)
		}
		// After the hold has ended, a write acquisition is not an upgrade.
		w, err := rw.Write().Acquire(after)
		if err != nil {
			t.Fatalf("%s: %v", recipe, err)
		}
		if err := w.Release(within(t)); err != nil {
			t.Error(err)
		}
	}
}

func TestRWSequenceExhausted(t *testing.T) {
	for recipe := range rwMakers {
		for _, write := range []bool{false, true} {
			svc := newFakeService()
			svc.set("/locks", nil, 0)
			svc.set("/locks/a", nil, 0)
			svc.SetCreates("/locks/a", 2147483647)
			s, _ := svc.session(t, nil)
			if _, err := side(newRW(t, recipe, s, nil), write).Acquire(within(t)); !errors.Is(err, ErrSequenceExhausted) {
				t.Errorf("%s: %v", recipe, err)
			}
			eventually(t, "own node deleted", func() bool { return len(svc.ephemerals()) == 0 })
		}
	}
}

func TestRWConfigurationIsChecked(t *testing.T) {
	s, _ := newFakeService().session(t, nil)
	for recipe, newRW := range rwMakers {
		if _, err := newRW(RWConfig{Path: "/a"}); err == nil {
			t.Errorf("%s without a session", recipe)
		}
		if _, err := newRW(RWConfig{Session: s, Path: "/"}); !errors.Is(err, ErrInvalidPath) {
			t.Errorf("%s: %v", recipe, err)
		}
	}
}

func TestParticipants(t *testing.T) {
	svc := newFakeService()
	var lost atomic.Int32
	s, _ := svc.session(t, func(op, _ string) fault {
		if (op == "get" || op == "children") && lost.Add(1)%2 == 0 {
			return loseAfter
		}
		return pass
	})
	rw, err := NewRW(RWConfig{Session: s, Path: "/locks/a", Data: []byte("who")})
	if err != nil {
		t.Fatal(err)
	}
	if all, err := rw.Participants(within(t)); err != nil || len(all) != 0 {
		t.Errorf("before the first: %v, %v", all, err)
	}
	h, err := rw.Write().Acquire(within(t))
	if err != nil {
		t.Fatal(err)
	}
	read, err := rw.ReadUnder(within(t), h)
	if err != nil {
		t.Fatal(err)
	}
	svc.set("/locks/a/zzz", nil, 0) // no participant
	seen := func(ps []Participant, err error) (out []string) {
		if err != nil {
			t.Error(err)
		}
		for _, p := range ps {
			if p.Session != s.ID() || p.Czxid == 0 || path.Dir(p.Path) != "/locks/a" {
				t.Errorf("%+v", p)
			}
			out = append(out, fmt.Sprintf("shared=%t %s %s", p.Shared, p.Data, p.Path[strings.LastIndex(p.Path, "__")+2:]))
		}
		return out
	}
	w, r := "shared=false who 0000000000", "shared=true who 0000000000"
	if d := cmp.Diff([]string{w, r}, seen(rw.Participants(within(t)))); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{w}, seen(rw.Writers(within(t)))); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{r}, seen(rw.Readers(within(t)))); d != "" {
		t.Error(d)
	}
	for _, h := range []*Hold{read, h} {
		if err := h.Release(within(t)); err != nil {
			t.Error(err)
		}
	}
	m, err := NewMutex(MutexConfig{Session: s, Path: "/locks/b", Data: []byte("m")})
	if err != nil {
		t.Fatal(err)
	}
	hold, err := m.Acquire(within(t))
	if err != nil {
		t.Fatal(err)
	}
	if ps, err := m.Participants(within(t)); err != nil || len(ps) != 1 || string(ps[0].Data) != "m" || ps[0].Shared ||
		ps[0].Czxid != hold.Token() {
		t.Errorf("%+v, %v", ps, err)
	}
	if err := hold.Release(within(t)); err != nil {
		t.Error(err)
	}
}

// A writer that asks for the same lock in the context of its hold does not wait for itself: it becomes a reader as
// well where the recipe allows that, and is refused otherwise.
func TestWriterDoesNotWaitForItself(t *testing.T) {
	for recipe := range rwMakers {
		svc := newFakeService()
		s, _ := svc.session(t, nil)
		rw := newRW(t, recipe, s, nil)
		w := acquired(t, rw.Write())
		inside, cancel := w.Within(within(t))
		defer cancel()
		for name, acquire := range map[string]func(context.Context) (*Hold, error){
			"write": rw.Write().Acquire, "try to write": rw.Write().TryAcquire,
		} {
			if _, err := acquire(inside); !errors.Is(err, ErrUpgrade) {
				t.Errorf("%s: %s: %v", recipe, name, err)
			}
		}
		for name, acquire := range map[string]func(context.Context) (*Hold, error){
			"read": rw.Read().Acquire, "try to read": rw.Read().TryAcquire,
		} {
			r, err := acquire(inside)
			if recipe != "rw" {
				if !errors.Is(err, ErrUpgrade) {
					t.Errorf("%s: %s: %v", recipe, name, err)
				}
				continue
			}
			if err != nil {
				t.Fatalf("%s: %s: %v", recipe, name, err)
			}
			if r.Token() != w.Token() {
				t.Errorf("%s: %s: token %d, want the writer's, %d", recipe, name, r.Token(), w.Token())
			}
			released(t, r)
		}
		released(t, w)
		after := acquired(t, rw.Read())
		released(t, after)
	}
}
