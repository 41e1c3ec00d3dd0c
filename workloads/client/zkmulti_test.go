package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"locklab/harness/history"
	"locklab/recipes"
	"locklab/recipes/zksession"
	"locklab/workloads/guard"
	"locklab/workloads/lock"
)

// fakeKeeper keeps a counter, and refuses transactions with its error.
type fakeKeeper struct {
	fakeSource
	value *int32
	fails func() error
}

func (f fakeKeeper) Counter(string) (lock.Counter, error) { return fakeCount(f), nil }

func (f fakeKeeper) Transact(_ context.Context, _ *recipes.Hold, ops ...zksession.Op) error {
	if err := f.fails(); err != nil {
		return err
	}
	for _, op := range ops {
		*f.value = op.Version
	}
	return nil
}

type fakeCount fakeKeeper

func (f fakeCount) Get(context.Context) (recipes.Count, error) {
	return recipes.Count{Value: *f.value}, nil
}

// SetOp stores the value in a field that holds a number.
func (f fakeCount) SetOp(value int32) zksession.Op { return zksession.Op{Version: value} }

// A write that ZooKeeper refuses has certainly not happened, and one that it does not answer may have. No client
// enters or leaves. Only readers ask ZooKeeper to confirm what they have read.
func TestZKMulti(t *testing.T) {
	gone := fmt.Errorf("guarded write: %w: gone", recipes.ErrLockLost)
	read := []string{"1 read ok l value 3"}
	for name, c := range map[string]struct {
		mode history.Mode
		err  error
		want []string
		left int32
	}{
		"written": {history.ModeExclusive, nil, []string{"1 read ok l value 3", "1 write invoke l value 4",
			"1 write ok l value 4"}, 4},
		"lost": {history.ModeExclusive, gone, slices.Concat(read, []string{"1 write invoke l value 4",
			"1 write fail l refused: guarded write: lock lost: gone value 4"}), 3},
		"released": {history.ModeExclusive, recipes.ErrReleased,
			slices.Concat(read, []string{"1 write invoke l value 4", "1 write fail l refused: " + recipes.ErrReleased.Error() +
				" value 4"}), 3},
		"no datum": {history.ModeExclusive, &zksession.OpError{Index: 0, Err: zksession.ErrNoNode},
			slices.Concat(read, []string{"1 write invoke l value 4", "1 write fail l refused: operation 0: " +
				zksession.ErrNoNode.Error() + " value 4"}), 3},
		"unanswered": {history.ModeExclusive, zksession.ErrConnectionLoss,
			slices.Concat(read, []string{"1 write invoke l value 4", "1 write info l " + zksession.ErrConnectionLoss.Error() +
				" value 4"}), 3},
		"unanswered, and then lost": {history.ModeExclusive, errors.Join(zksession.ErrConnectionLoss, recipes.ErrLockLost),
			slices.Concat(read, []string{"1 write invoke l value 4", "1 write info l " +
				errors.Join(zksession.ErrConnectionLoss, recipes.ErrLockLost).Error() + " value 4"}), 3},
		"cut short": {history.ModeExclusive, context.Canceled,
			slices.Concat(read, []string{"1 write invoke l value 4", "1 write info l context canceled value 4"}), 3},
		"a reader": {history.ModeRead, nil, []string{"1 read ok read l value 3", "1 read ok read l value 3"}, 3},
		"a reader's lost": {history.ModeRead, gone, []string{"1 read fail read l refused: guarded write: lock lost: gone"},
			3},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := valid()
			cfg.Guard, cfg.Locks = guard.ZKMulti, []string{"/l"}
			value := int32(3)
			k := fakeKeeper{value: &value, fails: func() error { return c.err }}
			k.grant = func(context.Context, lock.Want) (*lock.Grant, error) {
				h, _ := newHeld(5, nil)
				return lock.Single("/l", c.mode, h), nil
			}
			contends, said := contender(t, cfg, k)
			h := contends.acquire(
				t.Context(),
				always(),
				lock.Want{Mode: c.mode, Paths: cfg.Locks},
				func(ctx context.Context) (*lock.Grant, error) { return k.Acquire(ctx, lock.Want{}) },
			)
			if err := contends.section(always(), h); err != nil {
				t.Fatal(err)
			}
			release(t.Context(), h)
			got := slices.DeleteFunc(said(), func(line string) bool {
				return strings.HasPrefix(line, "1 acquire") || strings.HasPrefix(line, "1 release")
			})
			if !slices.Equal(got, c.want) || value != c.left {
				t.Errorf("recorded %q, left %d; want %q, %d", got, value, c.want, c.left)
			}
		})
	}
}

// A recipe that cannot keep data is refused before the work begins.
func TestNothingIsKept(t *testing.T) {
	p := &process{cfg: valid()}
	if err := p.layOut(t.Context(), fakeSource{}); err == nil {
		t.Error("counters were created")
	}
}
