package zktest_test

import (
	"testing"

	"github.com/go-zookeeper/zk"

	"locklab/recipes/zksession"
	"locklab/recipes/zktest"
)

// An administrator sees the ACL as the service keeps it: with the identity for which CreatorAll stands.
func TestNodeACL(t *testing.T) {
	srv := zktest.New(zktest.Config{})
	z, err := zksession.Connect(within(t), zksession.Config{Servers: srv.Addrs(), Dial: srv.Dial,
		Credentials: []zksession.Credential{zksession.Digest("alice", "x")}, ACL: zksession.CreatorAll})
	check(t, err)
	defer func() { check(t, z.Close(within(t))) }()
	_, err = z.Create(within(t), "/a", nil, zksession.Persistent)
	check(t, err)
	n, _ := srv.Node("/a")
	if want := zk.DigestACL(zk.PermAll, "alice", "x")[0]; len(n.ACL) != 1 || n.ACL[0] != want {
		t.Errorf("got %v, want only %v", n.ACL, want)
	}
}

// Every outcome has words of its own, so that a test that names its cases by outcomes can be read.
func TestOutcomeString(t *testing.T) {
	seen := map[string]zktest.Outcome{}
	for o := zktest.Answered; o <= zktest.ExpireAfter+1; o++ {
		if other, twice := seen[o.String()]; twice {
			t.Errorf("%d and %d are both %q", o, other, o)
		}
		seen[o.String()] = o
	}
	if got := zktest.ReplyLost.String(); got != "reply lost" {
		t.Errorf("got %q", got)
	}
}
