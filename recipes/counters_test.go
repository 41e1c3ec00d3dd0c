package recipes

import (
	"bufio"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"
)

// counters returns the servers' own counters, summed over the ensemble. Tests run one
// at a time, so that a difference is this test's.
func counters(t *testing.T) map[string]float64 {
	t.Helper()
	sums := map[string]float64{}
	for _, server := range servers(t) {
		conn, err := net.DialTimeout("tcp", server, patience)
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(patience))
		if _, err := io.WriteString(conn, "mntr"); err != nil {
			t.Fatal(err)
		}
		for lines := bufio.NewScanner(conn); lines.Scan(); {
			name, value, _ := strings.Cut(lines.Text(), "\t")
			if v, err := strconv.ParseFloat(value, 64); err == nil {
				sums[name] += v
			}
		}
		_ = conn.Close()
	}
	return sums
}

// fired returns how many watches the servers have fired so far: because of deletions of znodes,
// because of changes of lists of children, and all in all.
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
