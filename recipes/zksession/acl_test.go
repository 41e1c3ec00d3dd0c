package zksession

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"locklab/recipes/zkproto"
)

// Every kind of create has the ACL that the configuration chooses for its path.
func TestACLOfCreates(t *testing.T) {
	s := &scripted{}
	bodies := make(chan []byte, 8) // of the requests
	s.answer = func(_ int32, body []byte) (int32, []byte, bool) {
		bodies <- body
		return zkproto.CodeNoAuth, nil, true
	}
	serve(t, s)
	c := toScripted(t, s, Config{ACL: func(path string) []zk.ACL {
		return zk.DigestACL(zk.PermRead, "user-of-"+path[1:], "password")
	}})
	for _, create := range []func(path string) error{
		func(p string) error { _, err := c.Create(within(t), p, nil, Persistent); return err },
		func(p string) error { _, err := c.Create(within(t), p, nil, Container); return err },
		func(p string) error { _, err := c.Create(within(t), p, nil, EphemeralSequential); return err },
		func(p string) error {
			_, err := c.Multi(within(t), Op{Kind: OpDelete, Path: "/x"}, Op{Kind: OpCreate, Path: p})
			return err
		},
	} {
		if err := create("/here"); !errors.Is(err, ErrNoAuth) {
			t.Errorf("got %v, want ErrNoAuth", err)
		}
		if body := <-bodies; !bytes.Contains(body, []byte("user-of-here:")) {
			t.Errorf("the ACL is not in %q", body)
		}
	}
}

// A list that does not fit into the first buffer makes it larger, as data does.
func TestLargeACL(t *testing.T) {
	for name, create := range map[string]func(c *connection) error{
		"create": func(c *connection) error { _, err := c.Create(within(t), "/a", nil, Persistent); return err },
		"multi": func(c *connection) error {
			_, err := c.Multi(within(t), Op{Kind: OpCreate, Path: "/a"})
			return err
		},
	} {
		const exists = 3 // the small request that comes first
		s := &scripted{answer: func(op int32, _ []byte) (int32, []byte, bool) {
			if op == exists {
				return 0, make([]byte, 68), true // a stat
			}
			return zkproto.CodeNoAuth, nil, true
		}}
		serve(t, s)
		large := slices.Repeat(zk.WorldACL(zk.PermRead), firstBuffer/20)
		c := toScripted(t, s, Config{ACL: func(string) []zk.ACL { return large }})
		if err := create(c); !errors.Is(err, ErrNoAuth) {
			t.Errorf("%s: got %v, want the server's answer", name, err)
		}
	}
}

// A refusal says what was refused, and which permission is missing where.
func TestDenied(t *testing.T) {
	s := &scripted{answer: func(int32, []byte) (int32, []byte, bool) { return zkproto.CodeNoAuth, nil, true }}
	serve(t, s)
	c := toScripted(t, s, Config{})
	for want, call := range map[string]func() error{
		"create /a/b: not authorized: the ACL of /a does not let this session's credentials create": func() error {
			_, err := c.Create(within(t), "/a/b", nil, Ephemeral)
			return err
		},
		"delete /a/b: not authorized: the ACL of /a does not let this session's credentials delete": func() error {
			return c.Delete(within(t), "/a/b")
		},
		"get /a/b: not authorized: the ACL of /a/b does not let this session's credentials read": func() error {
			_, _, err := c.GetW(within(t), "/a/b", func(Event) {})
			return err
		},
		"list /a/b: not authorized: the ACL of /a/b does not let this session's credentials read": func() error {
			_, err := c.Children(within(t), "/a/b")
			return err
		},
	} {
		if err := call(); !errors.Is(err, ErrNoAuth) || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	err := denied(ErrInvalidACL, toCreate, "create", "/a")
	if !errors.Is(err, ErrInvalidACL) || !strings.Contains(err.Error(), "CreatorAll needs credentials") {
		t.Errorf("an invalid ACL: %v", err)
	}
}
