package recipes

import (
	"os"
	"strings"
	"testing"
)

// servers returns the addresses of a real ZooKeeper ensemble.
func servers(t testing.TB) []string {
	t.Helper()
	if testing.Short() {
		t.Skip("needs ZooKeeper")
	}
	list := os.Getenv("LOCKLAB_TEST_SERVERS")
	if list == "" {
		t.Fatal("LOCKLAB_TEST_SERVERS is not set: the addresses of a ZooKeeper ensemble, comma separated")
	}
	return strings.Split(list, ",")
}
