package recipes

import (
	"strconv"
	"strings"
	"testing"

	"locklab/ensembles/labtest/apart"
)

// counters returns the servers' own counters, summed over the ensemble. Tests run one
// at a time, so that a difference is this test's.
func counters(t *testing.T) map[string]float64 {
	t.Helper()
	sums := map[string]float64{}
	for _, server := range servers(t) {
		for name, v := range countersOf(t, server) {
			sums[name] += v
		}
	}
	return sums
}

// countersOf returns one server's counters.
func countersOf(t *testing.T, server string) map[string]float64 {
	t.Helper()
	all := map[string]float64{}
	for line := range strings.Lines(apart.Ask(t, server, "mntr")) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			all[name] = v
		}
	}
	return all
}

// agreed returns the value of a counter once all servers report the same value.
func agreed(t *testing.T, name string) (n int) {
	t.Helper()
	eventually(t, "the servers agree on "+name, func() bool {
		said := map[float64]bool{}
		for _, server := range servers(t) {
			v := countersOf(t, server)[name]
			said[v], n = true, int(v)
		}
		return len(said) == 1
	})
	return n
}

// fired returns how many watches the servers have fired so far: because of deleted znodes, because of changed lists
// of children, and in total.
func fired(t *testing.T) (deleted, children, all int) {
	t.Helper()
	c := counters(t)
	of := func(kind string) int {
		v, ok := c["zk_sum_node_"+kind+"_watch_count"]
		if !ok {
			t.Fatalf("the servers do not count the watches of kind %s", kind)
		}
		return int(v)
	}
	deleted, children = of("deleted"), of("children")
	return deleted, children, deleted + children + of("changed") + of("created")
}
