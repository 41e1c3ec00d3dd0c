package ensembles

import (
	"slices"
	"testing"
)

// The answer comes from Debian's ZooKeeper 3.8.0.
func TestParseDump(t *testing.T) {
	const answer = "SessionTracker dump:\nSession Sets (1)/(1):\n1 expire at Sat Nov 21 08:38:07 UTC 2026:\n\t0x1000\n" +
		"ephemeral nodes dump:\nSessions with Ephemerals (2):\n0x10000a1b2c30001:\n" +
		"\t/run1/lock0/_c_x-lock-0000000001\n\t/b\n0xf00000000000000a:\n\t/c\n" +
		"Connections dump:\nConnections Sets (1)/(1):\n1 expire at Sat Nov 21 08:38:20 UTC 2026:\n" +
		"\tip: /127.0.0.1:43670 sessionId: 0x0\n"
	got := ParseDump(answer)
	if len(got) != 2 ||
		!slices.Equal(got[0x10000a1b2c30001], []string{"/run1/lock0/_c_x-lock-0000000001", "/b"}) ||
		!slices.Equal(got[-0xffffffffffffff6], []string{"/c"}) {
		t.Errorf("%v", got)
	}
}
