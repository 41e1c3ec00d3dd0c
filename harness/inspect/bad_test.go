package inspect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"locklab/ensembles/labtest"
	"locklab/ensembles/reach"
	"locklab/ensembles/remote"
	"locklab/recipes/zksession"
	"locklab/recipes/zktest"
)

// serve lets answer have each connection to a port.
func serve(t *testing.T, answer func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return labtest.Accept(t, l, answer)
}

// enough is how long a look may take. It uses it up to a part of the time that is left, also on a busy machine.
const enough = 12 * time.Second

// A server that is none, or that does not serve, is named in one line with what is wrong, within the time that is left.
func TestBadServers(t *testing.T) {
	silent := func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }
	for _, c := range []struct {
		name   string
		server func(*testing.T) string
		tls    *reach.TLS
		wait   time.Duration // the whole time; what the server does is asked at the end, when some of it is left
		want   string
	}{
		{"nobody listens", func(*testing.T) string { return "127.0.0.1:1" }, nil, time.Minute,
			"cannot be reached: connect: connection refused"},
		{"no such host", func(*testing.T) string { return "no-such-host.invalid:2181" }, nil, time.Minute,
			"cannot be reached"},
		{"another service", func(t *testing.T) string {
			return serve(t, func(c net.Conn) { fmt.Fprint(c, "SSH-2.0-x\r\n"); silent(c) })
		}, nil, enough, "answers as no ZooKeeper server does"},
		{"zeros without end", func(t *testing.T) string {
			return serve(t, func(c net.Conn) {
				for zeros := make([]byte, 1<<10); ; {
					if _, err := c.Write(zeros); err != nil {
						return
					}
				}
			})
		}, nil, enough, "answers as no ZooKeeper server does"},
		{"a long frame", func(t *testing.T) string {
			return serve(t, func(c net.Conn) { _, _ = c.Write([]byte{0x7f, 0xff, 0xff, 0xff}); silent(c) })
		}, nil, enough, "with 2147483647 bytes, as no ZooKeeper server does"},
		{"silence", func(t *testing.T) string { return serve(t, silent) }, nil, enough, "does not answer"},
		{"it closes connections", func(t *testing.T) string { return serve(t, func(net.Conn) {}) }, nil, enough,
			"does not answer"},
		{"no TLS", func(t *testing.T) string { return zktest.Start(t).Addrs()[0] }, &reach.TLS{}, enough,
			"does not answer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := c.server(t)
			ctx, cancel := context.WithTimeout(t.Context(), c.wait)
			defer cancel()
			i, err := Open(ctx, Config{Access: &remote.Access{Ensemble: reach.Ensemble{Servers: []string{server}, TLS: c.tls}},
				Path: "/"})
			if err == nil {
				i.Close(t.Context())
			}
			text := fmt.Sprint(err)
			if !errors.Is(err, remote.ErrUnusable) || !strings.Contains(text, c.want) || !strings.Contains(text, server) ||
				strings.ContainsAny(text, "\n\r\x00\x1b[]") {
				t.Errorf("%q, want %q", text, c.want)
			}
		})
	}
}

// A service that stops answering in the middle of a look ends it in time, with what was seen.
func TestSlowAnswers(t *testing.T) {
	svc := zktest.StartWith(t, zktest.Config{})
	s := &stage{t, svc.Addrs()}
	admin := s.zk(zksession.Config{})
	create(t, admin, zksession.Persistent, "/a", "/a/lock")
	create(t, admin, zksession.Ephemeral, "/a/lock/x__lock__0000000000")
	svc.Delay(zktest.OpGetData, time.Hour)
	// A session gives up a connection on which nothing is answered for longer.
	ctx, cancel := context.WithTimeout(t.Context(), sessionTimeout/2)
	defer cancel()
	i, err := Open(ctx, s.config("/a"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := i.Look(ctx)
	late := ctx.Err()
	svc.Delay(zktest.OpGetData, 0)
	i.Close(t.Context())
	if err != nil || late != nil {
		t.Fatal(err, late)
	}
	wantVerdict(t, r, Unclear, "Not everything was seen: the time was over")
}

// A credential that is wrong, or that may not read some of the tree, is answered with the paths that were not seen.
func TestHiddenParts(t *testing.T) {
	s := newStage(t)
	owner := s.zk(zksession.Config{Credentials: []zksession.Credential{zksession.Digest("owner", "secret")},
		ACL: zksession.CreatorAll})
	create(t, owner, zksession.Persistent, "/a", "/a/lock")
	create(t, owner, zksession.Ephemeral, "/a/lock/x__lock__0000000000")
	admin := s.zk(zksession.Config{})
	create(t, admin, zksession.Persistent, "/b", "/b/lock")
	create(t, owner, zksession.Ephemeral, "/b/lock/x__lock__0000000000")
	look := func(path, credential string) *Report {
		cfg := s.config(path)
		cfg.Access.Credential = reach.Secret(credential)
		return s.look(cfg)
	}
	wantVerdict(t, look("/a/lock", "owner:wrong"), Unclear, "With this credential (--connect-auth; its password "+
		"may be wrong), /a/lock may not be read.")
	wantVerdict(t, look("/", "owner:wrong"), Unclear, "/a may not be read.", "/b/lock")
	wantVerdict(t, look("/b/lock", ""), Unclear, "x__lock__0000000000 holds it, and may not be read, so whose it is "+
		"remains unknown.", "Without a credential (--connect-auth), /b/lock/x__lock__0000000000 may not be read.")
	wantVerdict(t, look("/a/lock", "owner:secret"), Busy, "held by")
}

// Names and data that others have chosen cannot change how a terminal shows a report.
func TestHostileNames(t *testing.T) {
	svc := zktest.StartWith(t, zktest.Config{})
	s := &stage{t, svc.Addrs()}
	bad := "\x1b[2J\u202eevil\u0085\n" // servers refuse some of that, and not all
	owner := s.session().ID()
	svc.Put("/"+bad, nil)
	for _, name := range []string{"__lock__0000000000", "__lock__0000000001", ""} {
		op := zktest.AdminOp{Path: "/" + bad + "/" + bad + name, Data: []byte(bad), Owner: owner}
		if _, err := svc.Transact(op); err != nil {
			t.Fatal(err)
		}
	}
	for _, at := range []string{"/", "/" + bad} {
		r := s.look(s.config(at))
		lines := append(strings.Split(text(t, r), "\n"), r.Changes(nil)...)
		for _, line := range lines {
			if strings.ContainsAny(line, "\x1b\u202e\u0085\n") {
				t.Errorf("%s: %q", at, line)
			}
		}
		if len(lines) < 5 || r.Verdict() != Unclear { // one session waits behind itself
			t.Errorf("%s: %q, %s", at, lines, r.Verdict())
		}
	}
}

// A znode that is no lock is said to be none.
func TestNoLock(t *testing.T) {
	s := newStage(t)
	admin := s.zk(zksession.Config{})
	create(t, admin, zksession.Persistent, "/config", "/config/port")
	for _, at := range []string{"/config", "/config/port"} {
		wantVerdict(t, s.look(s.config(at)), Empty, at+": no lock of a known layout is there or below.")
	}
}
