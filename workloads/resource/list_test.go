package resource

import (
	"slices"
	"testing"

	"locklab/harness/history"
	"locklab/workloads"
)

// A client writes the list that it has read, whatever has happened to the stored list in between.
func TestListIsWrittenAsItWasRead(t *testing.T) {
	r, record := newResource(t, false)
	r.lists = true
	do := func(op history.Op, list, value int64) Answer {
		t.Helper()
		var a Answer
		if err := r.Do(Access{Op: op, Lock: "/l", Client: "c1/0", List: list, Value: value}, &a); err != nil ||
			!a.Accepted {
			t.Fatalf("%+v, %v", a, err)
		}
		return a
	}
	want := func(elements ...int64) {
		t.Helper()
		var got []int64
		if err := r.List("/l", &got); err != nil || !slices.Equal(got, elements) {
			t.Errorf("%d, %v; want %d", got, err, elements)
		}
	}
	want()
	empty := do(history.OpRead, 0, 0)
	one := do(history.OpWrite, empty.List, 11)
	two := do(history.OpWrite, one.List, 12)
	want(11, 12)
	if seen := do(history.OpRead, 0, 0); seen != two || seen.Value != 12 {
		t.Errorf("read %+v after %+v", seen, two)
	}
	stale := do(history.OpWrite, one.List, 21)
	want(11, 21)
	do(history.OpWrite, two.List, 13) // based on a list that was overwritten
	want(11, 12, 13)
	do(history.OpWrite, stale.List, 21) // another write based on the same list
	want(11, 21, 21)
	do(history.OpWrite, empty.List, 31)
	want(31)
	var targets []string
	for _, e := range record() {
		if e.Op == history.OpWrite {
			targets = append(targets, e.Target)
		}
	}
	if !slices.Equal(targets, []string{"behind-0", "behind-11", "behind-11", "behind-12", "behind-21", "behind-0"}) {
		t.Errorf("recorded %q", targets)
	}
}

// A fence refuses a write that is based on a stale list.
func TestListBehindAFence(t *testing.T) {
	r, _ := newResource(t, true)
	r.lists = true
	var a Answer
	for _, step := range []struct {
		token, list, value int64
		accepted           bool
	}{{5, 0, 11, true}, {6, 1, 21, true}, {5, 1, 12, false}} {
		if err := r.Do(Access{Op: history.OpWrite, Lock: "/l", Token: step.token, List: step.list, Value: step.value},
			&a); err != nil ||
			a.Accepted != step.accepted {
			t.Errorf("%+v: %+v, %v", step, a, err)
		}
	}
	var got []int64
	if err := r.List("/l", &got); err != nil || !slices.Equal(got, []int64{11, 21}) {
		t.Error(got, err)
	}
}

// Lists that are full accept nothing more, and say so over the network too.
func TestListsAreBounded(t *testing.T) {
	r, _ := newResource(t, false)
	r.lists, r.elements = true, workloads.MaxElements-1
	address, _ := start(t, r)
	c := dial(t, address)
	if a, err := c.Do(t.Context(), Access{Op: history.OpWrite, Lock: "/l", Value: 1}); err != nil || !a.Accepted {
		t.Error(a, err)
	}
	if _, err := c.Do(t.Context(), Access{Op: history.OpWrite, Lock: "/l", Value: 2}); err != ErrFull {
		t.Errorf("more than fits: %v", err)
	}
	if got, err := c.List(t.Context(), "/l"); err != nil || !slices.Equal(got, []int64{1}) {
		t.Error(got, err)
	}
	if got, err := c.List(t.Context(), "/other"); err != nil || len(got) != 0 {
		t.Error(got, err)
	}
	r.lists = false
	if _, err := c.List(t.Context(), "/l"); err == nil {
		t.Error("counters were listed")
	}
}
