package chaos

import (
	"testing"

	"locklab/harness/history"
)

// A session's connection can outlive the session in a leader's answer to "dump".
func TestDumpListsASession(t *testing.T) {
	const dump = `SessionTracker dump:
Session Sets (2)/(1):
0 expire at Sat Nov 21 15:04:16 UTC 2026:
1 expire at Sat Nov 21 15:04:17 UTC 2026:
	0x300000e390a0001
ephemeral nodes dump:
Sessions with Ephemerals (1):
0x100000e47720008:
	/run1/lock0/_c_512d0911-d297-412e-9a10-530181f20ace-lock-0000000056
Connections dump:
Connections Sets (2)/(2):
1 expire at Sat Nov 21 15:04:24 UTC 2026:
	ip: /10.87.241.15:51358 sessionId: 0x200004bd46d0001
`
	for _, c := range []struct {
		name, dump string
		session    history.SessionID
		there, ok  bool
	}{
		{"a session", dump, 0x300000e390a0001, true, true},
		{"a session with only a znode left", dump, 0x100000e47720008, true, true},
		{"a session with only a connection left", dump, 0x200004bd46d0001, false, true},
		{"a session whose number is a prefix", dump, 0x300000e390a000, false, true},
		{"a server that serves no clients", "This ZooKeeper instance is not currently serving requests\n", 1, false, false},
	} {
		if there, ok := knows(c.dump, c.session); there != c.there || ok != c.ok {
			t.Errorf("%s: %v, %v", c.name, there, ok)
		}
	}
}
