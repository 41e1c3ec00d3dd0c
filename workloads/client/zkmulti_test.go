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
)

// fakeKeeper keeps a count, and refuses transactions with its error.
type fakeKeeper struct {
	fakeSource
	value *int32
	fails func() error
}

func (f fakeKeeper) count(string) (count, error) { return fakeCount(f), nil }

func (f fakeKeeper) transact(_ context.Context, _ *recipes.Hold, ops ...recipes.Op) error {
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

// SetOp carries the value where there is room for a number.
func (f fakeCount) SetOp(value int32) recipes.Op { return recipes.Op{Version: value} }

// What ZooKeeper refuses is certainly not done, and what it does not answer may be; nobody enters or leaves. Only
// readers ask it to confirm what they read.
func TestZKMulti(t *testing.T) {
	gone := fmt.Errorf("guarded write: %w: gone", recipes.ErrLockLost)
	read := []string{"1 read ok l value 3"}
	for name, c := range map[string]struct {
		mode string
		err  error
		want []string
		left int32
	}{
		"written": {history.ModeExclusive, nil, []string{"1 read ok l value 3", "1 write invoke l value 4", "1 write ok l value 4"}, 4},
		"lost":    {history.ModeExclusive, gone, slices.Concat(read, []string{"1 write invoke l value 4", "1 write fail l refused: guarded write: lock lost: gone value 4"}), 3},
		"released": {history.ModeExclusive, recipes.ErrReleased,
			slices.Concat(read, []string{"1 write invoke l value 4", "1 write fail l refused: " + recipes.ErrReleased.Error() + " value 4"}), 3},
		"no datum": {history.ModeExclusive, &recipes.OpError{Index: 0, Err: recipes.ErrNoNode},
			slices.Concat(read, []string{"1 write invoke l value 4", "1 write fail l refused: operation 0: " + recipes.ErrNoNode.Error() + " value 4"}), 3},
		"unanswered": {history.ModeExclusive, recipes.ErrConnectionLoss,
			slices.Concat(read, []string{"1 write invoke l value 4", "1 write info l " + recipes.ErrConnectionLoss.Error() + " value 4"}), 3},
		"unanswered, and then lost": {history.ModeExclusive, errors.Join(recipes.ErrConnectionLoss, recipes.ErrLockLost),
			slices.Concat(read, []string{"1 write invoke l value 4", "1 write info l " + errors.Join(recipes.ErrConnectionLoss, recipes.ErrLockLost).Error() + " value 4"}), 3},
		"cut short":       {history.ModeExclusive, context.Canceled, slices.Concat(read, []string{"1 write invoke l value 4", "1 write info l context canceled value 4"}), 3},
		"a reader":        {history.ModeRead, nil, []string{"1 read ok read l value 3", "1 read ok read l value 3"}, 3},
		"a reader's lost": {history.ModeRead, gone, []string{"1 read fail read l refused: guarded write: lock lost: gone"}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := valid()
			cfg.Guard, cfg.Locks = GuardZKMulti, []string{"/l"}
			value := int32(3)
			k := fakeKeeper{value: &value, fails: func() error { return c.err }}
			k.grant = func(context.Context, want) (*grant, error) {
				h, _ := newHeld(5, nil)
				return single("/l", c.mode, h), nil
			}
			contends, said := contender(t, cfg, k)
			h := contends.acquire(t.Context(), always(), want{mode: c.mode, paths: cfg.Locks}, func(ctx context.Context) (*grant, error) { return k.acquire(ctx, want{}) })
			if err := contends.section(t.Context(), h); err != nil {
				t.Fatal(err)
			}
			h.release(t.Context())
			got := slices.DeleteFunc(said(), func(line string) bool {
				return strings.HasPrefix(line, "1 acquire") || strings.HasPrefix(line, "1 release")
			})
			if !slices.Equal(got, c.want) || value != c.left {
				t.Errorf("recorded %q, left %d; want %q, %d", got, value, c.want, c.left)
			}
		})
	}
	if got := datumPath("/run1/lock0"); got != "/run1/lock0-datum" {
		t.Error(got)
	}
}

// A recipe that cannot keep anything is refused before the work begins.
func TestNothingIsKept(t *testing.T) {
	p := &process{cfg: valid()}
	if err := p.layOut(t.Context(), fakeSource{}); err == nil {
		t.Error("counters were made")
	}
}
