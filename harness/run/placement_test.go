package run

import (
	"slices"
	"testing"
)

func TestPinned(t *testing.T) {
	leads := func(name string) bool { return name == "zk2" }
	for _, c := range []struct {
		wanted bool
		order  []string
		n      int
	}{
		{true, []string{"zk2", "zk1", "zk3"}, 1},
		{false, []string{"zk1", "zk3", "zk2"}, 2},
	} {
		if order, n := pinned([]string{"zk1", "zk2", "zk3"}, leads, c.wanted); n != c.n || !slices.Equal(order, c.order) {
			t.Errorf("leader %t: %v, %d of them; want %v, %d", c.wanted, order, n, c.order, c.n)
		}
	}
}
