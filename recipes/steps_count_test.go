package recipes

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"locklab/recipes/zksession"
)

// countOf returns the path of a semaphore's shared number of permits: see realLock.
func countOf(path string) string { return path + "-count" }

// counted creates the count, and sets it to another value when a client waits for it.
func counted(first, then int32) func(*stage) (func(context.Context) error, error) {
	return func(st *stage) (func(context.Context) error, error) {
		c := newCountOf(st.t, st.observer, countOf(st.path), 0)
		leave := func(ctx context.Context) error {
			if first == then {
				return nil
			}
			return c.SetCount(ctx, then)
		}
		return leave, c.SetCount(st.ctx, first)
	}
}

func (st *stage) count() *SharedCount {
	c, err := NewSharedCount(SharedCountConfig{Session: st.subject, Path: countOf(st.path), Seed: 5})
	if err != nil {
		panic(err) // the table is wrong
	}
	return c
}

func getCount(st *stage) error {
	v, err := st.count().Get(st.doing)
	if err == nil && v.Value != 5 {
		err = fmt.Errorf("got %d", v.Value)
	}
	return err
}

func setCount(value int32) func(*stage) error {
	return func(st *stage) error { return st.count().SetCount(st.doing, value) }
}

func trySetCount(value int32) func(*stage) error {
	return func(st *stage) error {
		c := st.count()
		v, err := c.Get(st.doing)
		if err != nil {
			return err
		}
		set, err := c.TrySetCount(st.doing, v, value)
		if err == nil && !set {
			err = errors.New("refused, although no other client sets the count")
		}
		return err
	}
}

// watchCount watches until it sees the value.
func watchCount(value int32) func(*stage) error {
	return func(st *stage) error {
		ctx, cancel := context.WithCancel(st.doing)
		defer cancel()
		err := st.count().Watch(ctx, func(v Count) {
			if v.Value == value {
				cancel()
			}
		})
		if errors.Is(err, context.Canceled) && st.doing.Err() == nil {
			err = nil
		}
		return err
	}
}

// wantCount checks the value, unless the client under test was told that the outcome is unknown, and removes the
// count.
func wantCount(value int32) func(*stage) {
	return func(st *stage) {
		v, err := newCountOf(st.t, st.observer, countOf(st.path), value).Latest(st.ctx)
		if err != nil || v.Value != value && (st.err == nil || errors.Is(st.err, zksession.ErrConnectionLoss)) {
			st.t.Errorf("the count is %d, %v", v.Value, err)
		}
		forgetCount(st)
	}
}

// forgetCount removes a count, and fires the watches on it.
func forgetCount(st *stage) {
	eventually(st.t, "the count has no pin, and is gone", func() bool {
		err := st.remove(countOf(st.path))
		if err != nil && !errors.Is(err, zk.ErrNotEmpty) { // a pin of an attempt that was cancelled goes later
			st.t.Fatal(err)
		}
		return err == nil
	})
}
