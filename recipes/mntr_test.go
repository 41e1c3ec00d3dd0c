package recipes

import (
	"bufio"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"
)

// fired returns how many watches the servers have fired: because of deletions of znodes,
// and because of changes of lists of children.
func fired(t *testing.T) (deleted, children int) {
	t.Helper()
	for _, server := range servers(t) {
		values := mntr(t, server)
		for name, sum := range map[string]*int{"zk_sum_node_deleted_watch_count": &deleted, "zk_sum_node_children_watch_count": &children} {
			n, err := strconv.Atoi(values[name])
			if err != nil {
				t.Fatalf("%s of %s: %v", name, server, err)
			}
			*sum += n
		}
	}
	return deleted, children
}

// mntr returns a server's metrics.
func mntr(t *testing.T, server string) map[string]string {
	t.Helper()
	conn, err := net.DialTimeout("tcp", server, patience)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err := conn.Write([]byte("mntr")); err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), "\t")
		values[name] = value
	}
	return values
}
