package recipes

import (
	"context"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"locklab/recipes/internal/wire"
	"locklab/recipes/zksession"
)

// This is TestExclusionUnderBreaks for mutexes that save lists even in short queues.
func TestSparseExclusionUnderBreaks(t *testing.T) {
	lock, other := lockPath(t), connected(t, SessionConfig{})
	var holders holders
	var hints atomic.Int32
	underBreaks(t, lock, 3, 25, func(s *Session) func(context.Context, *rand.Rand) error {
		l := sparseMutex(t, s, lock, nil)
		work := func() {
			if _, ok := l.(*Mutex).line.sparse.hint(contender{seq: math.MaxInt64}); ok {
				hints.Add(1)
			}
			_ = other.zk.Sync(within(t), lock) // takes a round trip
		}
		return func(ctx context.Context, _ *rand.Rand) error { return useOnce(t, t.Name(), ctx, l, &holders, work) }
	})
	t.Logf("%d holds with a hint for the next attempt", hints.Load())
	if hints.Load() < 10 {
		t.Error("almost no list was saved")
	}
}

// An attempt remembers one contender from an earlier list, and finds two more ahead. doc.go states what that costs.
func TestSparseCosts(t *testing.T) {
	st := (&scenario{recipe: "mutex-sparse", mine: sparseMutex, theirs: sparseMutex, theirsIsReal: queued("lock-",
		"")}).setUp(
		t,
		servers(t),
		connected(
			t,
			SessionConfig{Config: zksession.Config{Timeout: 20 * time.Second}},
		),
		&plan{kind: faultKind{timeout: 20 * time.Second}},
	)
	leave, err := crowded(st)
	if err != nil {
		t.Fatal(err)
	}
	armed(t, 0)
	_, _, sofar := fired(t)
	before := received(t, st.subject)
	got := acquiring(t, st.mine)
	eventually(t, "the client waits", func() bool { return waiting(st.subject, "") })
	if err := leave(st.ctx); err != nil {
		t.Fatal(err)
	}
	released(t, <-got)
	if n := received(t, st.subject) - before; n != 8 {
		t.Errorf("%d requests, want 8", n)
	}
	if _, by := st.w.Requests(); by[wire.OpChildren] != 1 {
		t.Errorf("%d lists, want 1", by[wire.OpChildren])
	}
	armed(t, 0)
	if _, _, n := fired(t); n-sofar != 4 {
		t.Errorf("%d watches fired, want one for each of the three and its own", n-sofar)
	}
	empty(t, st.observer, st.path)
}
