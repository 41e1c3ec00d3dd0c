package recipes

import (
	"path"
	"slices"
	"strings"
	"testing"

	"locklab/recipes/zksession"
)

func TestParseLease(t *testing.T) {
	const guid = "0f8fad5b-d9cb-469f-a165-70867728950e"
	for name, want := range map[string]int{
		"_c_" + guid + "-of0000000005-slot0-lease-0000000000": 0,
		"_c_" + guid + "-slot0-lease-0000000000":              0, // the form of our leases in earlier versions
		"_c_" + guid + "-slot12-lease-0000000007":             12,
		"_c_" + guid + "-slot3-lease--2147483647":             3, // the counter has wrapped; leases are not ordered by it
		"_c_" + guid + "-lease-0000000001":                    noSlot,
		"_c_" + guid + "-slot01-lease-0000000001":             noSlot,
		"_c_" + guid + "-slot-1-lease-0000000001":             noSlot,
		"_c_" + guid + "-slot99999999999-lease-0000000001":    noSlot,
		"_c_" + guid + "-slot2-lease-slot3-lease-0000000001":  3,
		"_c_" + guid + "-slot2-lease-0000000001lease-0000001": -2,
		"_c_" + guid + "-slot2-lease-1":                       -2,
		"_c_" + guid + "-slot2-lease-":                        -2,
		"lease-0000000001":                                    noSlot,
		"lock-0000000001":                                     -2,
		"0":                                                   -2,
		"":                                                    -2,
	} {
		l, ok := parseLease(name)
		if ok != (want != -2) || ok && (l.slot != want || l.name != name) {
			t.Errorf("%q: %+v, %t, want slot %d", name, l, ok, want)
		}
	}
	for _, slot := range []int{0, 7, 1 << 20} {
		if l, ok := parseLease(leaseName("_c_"+guid+"-lock-0000000009", slot) + "0000000042"); !ok || l.slot != slot {
			t.Errorf("slot %d becomes %+v, %t", slot, l, ok)
		}
	}
}

// A lease's name tells from which place in the queue it was acquired, whatever other znodes the same attempt has.
func TestLeasesOf(t *testing.T) {
	const guid, place = "0f8fad5b-d9cb-469f-a165-70867728950e", "_c_0f8fad5b-d9cb-469f-a165-70867728950e-lock-0000000005"
	of, ok := leasesOf(place)
	if !ok || !strings.HasPrefix(leaseName(place, 3), of) || !strings.HasPrefix(of, leasePrefix(guid)) ||
		strings.HasPrefix(place, leasePrefix(guid)) {
		t.Errorf("leases of %s begin with %q, %t; one is %s", place, of, ok, leaseName(place, 3))
	}
	for _, other := range []string{
		"_c_" + guid + "-lock-0000000006", "_c_" + guid + "-lock-00000000050", "_c_0f8fad5b-lock-0000000005", "_c_x" +
			guid + "-lock-0000000005",
	} {
		if p, _ := leasesOf(other); strings.HasPrefix(leaseName(place, 0), p) {
			t.Errorf("a lease of %s is taken for a lease of %s", place, other)
		}
	}
	for _, foreign := range []string{"lock-0000000005", guid + "-lock-0000000005", "_c_" + guid + "-lease-0000000005",
		"_c_" + guid, ""} {
		if p, ok := leasesOf(foreign); ok {
			t.Errorf("leases of %q begin with %q", foreign, p)
		}
	}
}

func TestFreeSlots(t *testing.T) {
	for _, c := range []struct {
		used []int
		n    int
		want []int
	}{
		{nil, 1, []int{0}},
		{nil, 3, []int{0, 1, 2}},
		{[]int{1, 3}, 3, []int{0, 2, 4}},
		{[]int{0, noSlot, noSlot}, 1, []int{1}},
		{[]int{5, 6}, 2, []int{0, 1}}, // leases from before the number was lowered
	} {
		var leases []lease
		for _, slot := range c.used {
			leases = append(leases, lease{slot: slot})
		}
		if got := freeSlots(leases, c.n); !slices.Equal(got, c.want) {
			t.Errorf("%v used: %v, want %v", c.used, got, c.want)
		}
	}
}

func TestJanitorRemovesAll(t *testing.T) {
	for _, c := range []struct {
		name   string
		fault  func(op, path string) fault
		gone   bool // one of them has gone before the request
		want   error
		counts map[string]int
	}{
		{"at once", nil, false, nil, map[string]int{"multi": 1}},
		{"one is gone", nil, true, zksession.ErrNoNode, map[string]int{"multi": 1, "delete": 3}},
		{"request lost", count("multi", 1, loseBefore), false, nil, map[string]int{"multi": 1, "delete": 3}},
		{"reply lost", count("multi", 1, loseAfter), false, nil, map[string]int{"multi": 1, "delete": 3}},
		{"request lost, one is gone", count("multi", 1, loseBefore), true, nil, map[string]int{"multi": 1, "delete": 3}},
		{"expired", count("multi", 1, expire), false, zksession.ErrSessionExpired, map[string]int{"multi": 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			svc := newFakeService()
			var order []string
			s, z := svc.session(t, func(op, p string) fault {
				if op == "delete" {
					order = append(order, path.Base(p))
				}
				if c.fault == nil {
					return pass
				}
				return c.fault(op, p)
			})
			nodes := []string{"/a", "/b", "/c"}
			for _, node := range nodes {
				svc.set(node, nil, s.ID())
			}
			if c.gone {
				svc.remove("/b")
			}
			if err := <-s.janitor.removeAll(nodes); err != c.want {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if left := svc.ephemerals(); len(left) != 0 {
				t.Errorf("left: %v", left)
			}
			for op, n := range c.counts {
				if z.counts[op] != n {
					t.Errorf("%v, want %v", z.counts, c.counts)
				}
			}
			if c.counts["delete"] == 3 && !slices.Equal(order, []string{"c", "b", "a"}) {
				t.Errorf("order %v", order)
			}
		})
	}
}
