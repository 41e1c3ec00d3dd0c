package client

import (
	"testing"

	"locklab/ensembles/txnlog/nodes"
)

// An observer sees the lock's own contenders only, in the order in which they have their turns.
func TestFirstOfQueue(t *testing.T) {
	for name, tt := range map[string]struct {
		layout   nodes.Layout
		dir      string
		children []string
		want     string
	}{
		"in any order of their names": {nodes.LayoutQueue, "/l", []string{"a-lock-0000000012", "b-lock-0000000007"},
			"/l/b-lock-0000000007"},
		"a stranger is not of the queue": {nodes.LayoutQueue, "/l", []string{"backup-0000000001", "a-lock-0000000012"},
			"/l/a-lock-0000000012"},
		"readers and writers are in one queue": {nodes.LayoutTextbook, "/l", []string{"write-0000000009", "read-0000000008"},
			"/l/read-0000000008"},
		"numbers after an overflow come last": {nodes.LayoutQueue, "/l",
			[]string{"c-lock--2147483647", "b-lock-2147483647", "a-lock-2147483646"}, "/l/a-lock-2147483646"},
		"numbers after an overflow say nothing": {nodes.LayoutQueue, "/l", []string{"c-lock--2147483647"}, ""},
		"leases": {nodes.LayoutSemaphore, "/l/leases", []string{"x-lease-0000000004", "x-lease-0000000003"},
			"/l/leases/x-lease-0000000003"},
		"any number, where the layout is not known": {"", "/l", []string{"mine0000000004", "other-0000000003", "note"},
			"/l/other-0000000003"},
		"nothing contends": {nodes.LayoutQueue, "/l", []string{"note"}, ""},
	} {
		if got := firstOf(tt.children, tt.dir, contenders("/l", tt.layout)); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
