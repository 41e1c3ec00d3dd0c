package run

import (
	"slices"
	"testing"
)

func TestPinned(t *testing.T) {
	for _, c := range []struct {
		wanted, order []string
	}{
		{[]string{"zk2"}, []string{"zk2", "zk1", "zk3"}},
		{[]string{"zk1", "zk3"}, []string{"zk1", "zk3", "zk2"}},
	} {
		wanted := func(name string) bool { return slices.Contains(c.wanted, name) }
		order, n := pinned([]string{"zk1", "zk2", "zk3"}, wanted)
		if n != len(c.wanted) || !slices.Equal(order, c.order) {
			t.Errorf("%v: %v, %d of them; want %v", c.wanted, order, n, c.order)
		}
	}
}
