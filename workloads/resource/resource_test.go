package resource

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"locklab/harness/history"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newResource makes a resource; record returns what the resource has recorded.
func newResource(t testing.TB, fencing bool) (r *Resource, record func() []history.Event) {
	t.Helper()
	dir := t.TempDir()
	rec, err := history.NewRecorder(dir, "r1", history.NewClock())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rec.Close() })
	return New(fencing, rec), func() []history.Event {
		tail := history.NewTailer(dir)
		defer tail.Close()
		var events []history.Event
		for {
			b, err := tail.Next()
			if err != nil {
				t.Fatal(err)
			}
			if len(b) == 0 {
				return events
			}
			if events, _, err = history.Decode(events, b, map[string]string{}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestGuards(t *testing.T) {
	type step struct {
		op           history.Op
		token, value int64
		want         Answer
	}
	const enter, read, write, exit = history.OpEnter, history.OpRead, history.OpWrite, history.OpExit
	for _, c := range []struct {
		name    string
		fencing bool
		steps   []step
	}{
		{"none accepts all, whatever the token", false, []step{
			{write, 9, 1, Answer{Accepted: true, Value: 1, Fence: 9}},
			{write, 3, 5, Answer{Accepted: true, Value: 5, Fence: 9}},
			{read, 0, 0, Answer{Accepted: true, Value: 5, Fence: 9}}}},
		{"none loses an update", false, []step{
			{read, 1, 0, Answer{Accepted: true, Value: 0, Fence: 1}}, {read, 2, 0, Answer{Accepted: true, Value: 0, Fence: 2}},
			{write, 2, 1, Answer{Accepted: true, Value: 1, Fence: 2}},
			{write, 1, 1, Answer{Accepted: true, Value: 1, Fence: 2}}}},
		{"one holder", true, []step{
			{enter, 5, 0, Answer{Accepted: true, Value: 0, Fence: 5}}, {read, 5, 0, Answer{Accepted: true, Value: 0, Fence: 5}},
			{write, 5, 1, Answer{Accepted: true, Value: 1, Fence: 5}},
			{exit, 5, 0, Answer{Accepted: true, Value: 1, Fence: 5}}}},
		{"the first access raises the fence, not the first write", true, []step{
			{read, 1, 0, Answer{Accepted: true, Value: 0, Fence: 1}}, {enter, 2, 0, Answer{Accepted: true, Value: 0, Fence: 2}},
			{write, 1, 1, Answer{Accepted: false, Value: 0, Fence: 2}},
			{read, 2, 0, Answer{Accepted: true, Value: 0, Fence: 2}}}},
		{"a read raises it too", true, []step{
			{read, 2, 0, Answer{Accepted: true, Value: 0, Fence: 2}},
			{write, 1, 1, Answer{Accepted: false, Value: 0, Fence: 2}},
			{write, 2, 1, Answer{Accepted: true, Value: 1, Fence: 2}}}},
		{"equal is not stale", true, []step{{write, 7, 1, Answer{Accepted: true, Value: 1, Fence: 7}},
			{write, 7, 2, Answer{Accepted: true, Value: 2, Fence: 7}}}},
		{"stale reads and exits are refused like writes", true, []step{
			{write, 7, 1, Answer{Accepted: true, Value: 1, Fence: 7}},
			{read, 6, 0, Answer{Accepted: false, Value: 1, Fence: 7}},
			{enter, 6, 0, Answer{Accepted: false, Value: 1, Fence: 7}},
			{exit, 6, 0, Answer{Accepted: false, Value: 1, Fence: 7}}}},
		{"what is refused does not lower the fence", true, []step{
			{write, 7, 1, Answer{Accepted: true, Value: 1, Fence: 7}},
			{write, 3, 9, Answer{Accepted: false, Value: 1, Fence: 7}},
			{write, 5, 9, Answer{Accepted: false, Value: 1, Fence: 7}},
			{write, 7, 2, Answer{Accepted: true, Value: 2, Fence: 7}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, record := newResource(t, c.fencing)
			for i, s := range c.steps {
				var got Answer
				a := Access{Op: s.op, Lock: "/l", Client: "c1/0", Acq: 4, Session: 0xabc, Token: s.token, Value: s.value}
				if err := r.Do(a, &got); err != nil {
					t.Fatal(err)
				}
				if got != s.want {
					t.Errorf("step %d, %s with token %d: %+v, want %+v", i, s.op, s.token, got, s.want)
				}
				kind := history.Fail
				if s.want.Accepted {
					kind = history.OK
				}
				want := history.Event{
					Process: "r1",
					Kind:    kind,
					Op:      s.op,
					Client:  "c1/0",
					Acq:     4,
					Lock:    "/l",
					Token:   s.token,
					Session: 0xabc,
					Value:   s.want.Value,
				}
				events := record()
				last := events[len(events)-1]
				want.At = last.At
				if d := cmp.Diff(want, last); d != "" || len(events) != i+1 {
					t.Errorf("step %d: %d events recorded; (-want +got)\n%s", i, len(events), d)
				}
			}
		})
	}
}

// Each lock has a counter and a fence of its own.
func TestLocksAreApart(t *testing.T) {
	r, _ := newResource(t, true)
	var a Answer
	for _, access := range []Access{{Op: history.OpWrite, Lock: "/a", Token: 9, Value: 3},
		{Op: history.OpWrite, Lock: "/b", Token: 1, Value: 4}} {
		if err := r.Do(access, &a); err != nil || !a.Accepted || a.Value != access.Value {
			t.Errorf("%+v: %+v, %v", access, a, err)
		}
	}
}

// TestFencesByMode tests what M6rw and M6s add: legal holders that hold at the same time do not refuse each other,
// and others do.
func TestFencesByMode(t *testing.T) {
	type step struct {
		mode  history.Mode
		slot  int64
		op    history.Op
		token int64
		want  Answer
	}
	const enter, read, write = history.OpEnter, history.OpRead, history.OpWrite
	const r, w, p = history.ModeRead, history.ModeWrite, history.ModePermit
	for _, c := range []struct {
		name  string
		steps []step
	}{
		{"an older reader beside a newer one", []step{{r, 0, read, 6, Answer{Accepted: true, Value: 0, Fence: 0}},
			{r, 0, read, 5, Answer{Accepted: true, Value: 0, Fence: 0}}}},
		{"a writer's first access shuts older readers out",
			[]step{{w, 0, enter, 6, Answer{Accepted: true, Value: 0, Fence: 6}},
				{r, 0, read, 5, Answer{Accepted: false, Value: 0, Fence: 6}},
				{r, 0, read, 7, Answer{Accepted: true, Value: 0, Fence: 6}}}},
		{"a reader shuts an older writer out", []step{{r, 0, read, 6, Answer{Accepted: true, Value: 0, Fence: 0}},
			{w, 0, write, 5, Answer{Accepted: false, Value: 0, Fence: 6}},
			{w, 0, write, 7, Answer{Accepted: true, Value: 7, Fence: 7}}}},
		{"a reader with its writer's token", []step{{w, 0, write, 5, Answer{Accepted: true, Value: 5, Fence: 5}},
			{r, 0, read, 5, Answer{Accepted: true, Value: 5, Fence: 5}},
			{r, 0, read, 8, Answer{Accepted: true, Value: 5, Fence: 5}},
			{r, 0, read, 5, Answer{Accepted: true, Value: 5, Fence: 5}}}},
		{"a write counts as a write in every mode", []step{{r, 0, read, 6, Answer{Accepted: true, Value: 0, Fence: 0}},
			{r, 0, write, 5, Answer{Accepted: false, Value: 0, Fence: 6}},
			{r, 0, write, 7, Answer{Accepted: true, Value: 7, Fence: 7}},
			{r, 0, read, 6, Answer{Accepted: false, Value: 7, Fence: 7}}}},
		{"two slots", []step{{p, 0, write, 5, Answer{Accepted: true, Value: 5, Fence: 5}},
			{p, 1, write, 6, Answer{Accepted: true, Value: 6, Fence: 6}},
			{p, 0, read, 5, Answer{Accepted: true, Value: 6, Fence: 5}}}},
		{"the next holder of a slot", []step{{p, 0, enter, 5, Answer{Accepted: true, Value: 0, Fence: 5}},
			{p, 1, enter, 6, Answer{Accepted: true, Value: 0, Fence: 6}},
			{p, 0, enter, 7, Answer{Accepted: true, Value: 0, Fence: 7}},
			{p, 0, write, 5, Answer{Accepted: false, Value: 0, Fence: 7}},
			{p, 1, write, 6, Answer{Accepted: true, Value: 6, Fence: 6}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			res, record := newResource(t, true)
			for i, s := range c.steps {
				var got Answer
				if err := res.Do(Access{Op: s.op, Lock: "/l", Mode: s.mode, Slot: s.slot, Token: s.token, Value: s.token},
					&got); err != nil {
					t.Fatal(err)
				}
				if got != s.want {
					t.Errorf("step %d, %s to %s with token %d: %+v, want %+v", i, s.op, s.mode, s.token, got, s.want)
				}
			}
			for i, e := range record() {
				slot := ""
				if c.steps[i].mode == p {
					slot = string(history.NewSlot(c.steps[i].slot))
				}
				if e.Mode != c.steps[i].mode || e.Target != slot {
					t.Errorf("step %d recorded as mode %q, target %q", i, e.Mode, e.Target)
				}
			}
		})
	}
}

// An m6 is a small model of a fenced register, in all its variants. It keeps every accepted access, and looks through
// all of them each time.
type m6 struct {
	accepted []Access
	value    int64
}

// do returns the model's answer to a.
//
//	M6    accepted iff t >= f, and then f := t
//	M6rw  to read iff t >= fw, and fr := max; to write iff t >= max(fr, fw), and fw := t
//	M6s   M6 for each slot
func (m *m6) do(a Access) Answer {
	fence := func() (f int64) {
		for _, b := range m.accepted {
			bounds := a.Mode != history.ModePermit && b.Mode != history.ModePermit
			if a.Mode == history.ModePermit && b.Mode == history.ModePermit {
				bounds = a.Slot == b.Slot
			}
			reads := func(a Access) bool { return a.Mode == history.ModeRead && a.Op != history.OpWrite }
			if bounds && !(reads(a) && reads(b)) {
				f = max(f, b.Token)
			}
		}
		return f
	}
	ok := a.Token >= fence()
	if ok {
		m.accepted = append(m.accepted, a)
		if a.Op == history.OpWrite {
			m.value = a.Value
		}
	}
	return Answer{Accepted: ok, Value: m.value, Fence: fence()}
}

func TestFencingModel(t *testing.T) {
	for name, modes := range map[string][]history.Mode{
		"M6":   {history.ModeExclusive},
		"M6rw": {history.ModeRead, history.ModeRead, history.ModeWrite},
		"M6s":  {history.ModePermit},
		"all":  {history.ModeExclusive, history.ModeRead, history.ModeWrite, history.ModePermit},
	} {
		t.Run(name, func(outer *testing.T) {
			rapid.Check(outer, func(t *rapid.T) {
				r, record := newResource(outer, true)
				var model m6
				n := rapid.IntRange(1, 40).Draw(t, "n")
				for i := range n {
					a := Access{
						Lock:  "/l",
						Token: rapid.Int64Range(1, 6).Draw(t, "token"),
						Value: int64(i),
						Mode:  rapid.SampledFrom(modes).Draw(t, "mode"),
						Op: rapid.SampledFrom([]history.Op{history.OpEnter, history.OpRead, history.OpWrite, history.OpExit}).
							Draw(t, "op"),
					}
					if a.Mode == history.ModePermit {
						a.Slot = rapid.Int64Range(0, 2).Draw(t, "slot")
					}
					var got Answer
					if err := r.Do(a, &got); err != nil {
						t.Fatal(err)
					}
					if want := model.do(a); got != want {
						t.Fatalf("%+v: %+v, want %+v", a, got, want)
					}
				}
				if got := len(record()); got != n {
					t.Fatalf("%d of %d accesses recorded", got, n)
				}
			})
		})
	}
}

// start serves a resource on a loopback port until the test ends.
func start(t *testing.T, r *Resource) (address string, stop func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- serve(ctx, r, l) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	t.Cleanup(stop)
	return l.Addr().String(), stop
}

func dial(t *testing.T, address string) *Client {
	t.Helper()
	c, err := Dial(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// The record has the accesses in the order of their effects: replaying it gives every value that was answered.
func TestRecordIsInOrderOfEffect(t *testing.T) {
	r, record := newResource(t, true)
	address, stop := start(t, r)
	const clients, each = 8, 200
	var wg sync.WaitGroup
	for i := range clients {
		c := dial(t, address)
		wg.Go(func() {
			for n := range each {
				op := []history.Op{history.OpWrite, history.OpRead}[n%2]
				if _, err := c.Do(t.Context(), Access{Op: op, Lock: "/l", Client: fmt.Sprint(i), Token: int64(n),
					Value: int64(i*each + n)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	stop()
	events := record()
	if len(events) != clients*each {
		t.Fatalf("%d accesses recorded of %d", len(events), clients*each)
	}
	var fence, last int64
	for i, e := range events {
		if (e.Kind == history.OK) != (e.Token >= fence) {
			t.Fatalf("access %d: %v with the fence at %d", i, e, fence)
		}
		if e.Kind == history.OK && e.Op == history.OpWrite {
			last = e.Value // the value of a write is the value that it wrote
		} else if e.Value != last {
			t.Fatalf("access %d: %v sees %d, the last write was %d", i, e, e.Value, last)
		}
		if e.Kind == history.OK {
			fence = e.Token
		}
		if i > 0 && e.At < events[i-1].At {
			t.Fatalf("access %d is stamped before the one before it", i)
		}
	}
}

// slow answers the calls of a resource only when the test lets it.
type slow struct {
	service
	called, answer chan struct{}
}

func (s slow) Do(a Access, answer *Answer) error {
	close(s.called)
	<-s.answer
	return s.service.Do(a, answer)
}

// A call that is cancelled returns at once with the cause, and its outcome is
// unknown: the access may yet happen. The connection stays good.
func TestCancelledCall(t *testing.T) {
	r, record := newResource(t, false)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s := slow{service{r}, make(chan struct{}), make(chan struct{})}
	done := make(chan error, 1)
	go func() { done <- serveAs(ctx, s, l) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	c := dial(t, l.Addr().String())

	cut := errors.New("cut short")
	call, end := context.WithCancelCause(t.Context())
	go func() { <-s.called; end(cut) }()
	if _, err := c.Do(call, Access{Op: history.OpWrite, Lock: "/l", Value: 1}); !errors.Is(err, cut) {
		t.Errorf("got %v", err)
	}
	if n := len(record()); n != 0 {
		t.Errorf("%d accesses happened before the test let them", n)
	}
	close(s.answer)
	c.Close() // does not wait: the server finishes the call all the same
}

// A resource that goes away ends the calls of its clients with an error.
func TestServerGoesAway(t *testing.T) {
	r, _ := newResource(t, false)
	address, stop := start(t, r)
	c := dial(t, address)
	if _, err := c.Do(t.Context(), Access{Op: history.OpRead, Lock: "/l"}); err != nil {
		t.Fatal(err)
	}
	stop()
	if _, err := c.Do(t.Context(), Access{Op: history.OpRead, Lock: "/l"}); err == nil {
		t.Error("a resource that is gone answered")
	}
	if _, err := Dial(t.Context(), address); err == nil {
		t.Error("a resource that is gone took a connection")
	}
}
