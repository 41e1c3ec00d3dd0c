package remote

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"locklab/ensembles/labtest"
	"locklab/ensembles/reach"
	"locklab/recipes/zksession"
	"locklab/recipes/zktest"
)

// accessTo returns the way to a service, perhaps with a credential.
func accessTo(s *zktest.Service, chroot string, credential reach.Secret) *Access {
	return &Access{Ensemble: reach.Ensemble{Servers: s.Addrs(), Chroot: chroot, Credential: credential}}
}

func TestInspect(t *testing.T) {
	s := zktest.Start(t)
	f, err := accessTo(s, "", "").Inspect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if left := s.Sessions(); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	if f.MinSessionTimeout <= 0 || f.MaxSessionTimeout <= f.MinSessionTimeout || f.Tick != f.MinSessionTimeout/2 ||
		!f.Guessed {
		t.Errorf("%+v", f)
	}
	// These servers know dump, but neither conf nor srvr.
	if !slices.Equal(f.Words, []string{"dump"}) || f.Version != "" {
		t.Errorf("words %q, version %q", f.Words, f.Version)
	}
}

// serveOnce accepts connections and lets answer have each.
func serveOnce(t *testing.T, answer func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return labtest.Accept(t, l, answer)
}

// A server that cannot be used is named with what is wrong with it, in one line.
func TestInspectRefuses(t *testing.T) {
	readOnly := func(c net.Conn) {
		if _, err := io.ReadFull(c, make([]byte, 4+45)); err != nil {
			return
		}
		answer := binary.BigEndian.AppendUint32(make([]byte, 4, 64), 4000) // of protocol version 0
		answer = append(binary.BigEndian.AppendUint64(answer, 7), 0, 0, 0, 16)
		answer = append(append(answer, make([]byte, 16)...), 1)
		_, _ = c.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(answer))), answer...))
		_, _ = io.ReadFull(c, make([]byte, 4+8)) // its wish to close the session
	}
	for _, c := range []struct {
		name, server, want string
		tls                *reach.TLS
	}{
		{"nobody listens", "127.0.0.1:1", "cannot be reached", nil},
		{"a read-only server", serveOnce(t, readOnly), "read-only", nil},
		{"another service", serveOnce(t, func(c net.Conn) { fmt.Fprintln(c, "SSH-2.0") }), "serves no clients", nil},
		{"no quorum", serveOnce(t, func(net.Conn) {}), "serves no clients", nil},
		{"no TLS", serveOnce(t, func(c net.Conn) { fmt.Fprintln(c, "SSH-2.0") }), "does not accept TLS", &reach.TLS{}},
	} {
		a := &Access{Ensemble: reach.Ensemble{Servers: []string{c.server}, TLS: c.tls}}
		_, err := a.Inspect(t.Context())
		if !errors.Is(err, ErrUnusable) || !strings.Contains(fmt.Sprint(err), c.server+" ") ||
			!strings.Contains(fmt.Sprint(err), c.want) || strings.Contains(fmt.Sprint(err), "\n") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// A server that answers a reconnect with another session is found before anything relies on a session of it.
func TestInspectFindsForgottenSessions(t *testing.T) {
	s := zktest.StartWith(t, zktest.Config{Servers: 3, ForgetsSessions: true})
	_, err := accessTo(s, "", "").Inspect(t.Context())
	if want := "this server forgets sessions: no lock is safe on it"; !errors.Is(err, ErrUnusable) ||
		!strings.Contains(fmt.Sprint(err), want) || !strings.Contains(fmt.Sprint(err), s.Addrs()[0]+" ") {
		t.Errorf("%v, want %q", err, want)
	}
}

// grants answers a handshake as a server does that grants sessions, and tells a role.
func grants(mode string) func(net.Conn) {
	return func(c net.Conn) {
		var begins [4]byte
		if _, err := io.ReadFull(c, begins[:]); err != nil {
			return
		}
		switch string(begins[:]) {
		case "srvr":
			fmt.Fprintf(c, "Zookeeper version: 3.9.3-x, built on a day\nMode: %s\n", mode)
			return
		case "conf", "mntr", "cons", "dump":
			fmt.Fprintln(c, "x is not executed because it is not in the whitelist.")
			return
		}
		if _, err := io.ReadFull(c, make([]byte, 45)); err != nil {
			return
		}
		answer := binary.BigEndian.AppendUint32(make([]byte, 4, 64), 4000) // of protocol version 0
		answer = append(binary.BigEndian.AppendUint64(answer, 7), 0, 0, 0, 16)
		answer = append(append(answer, make([]byte, 16)...), 0)
		_, _ = c.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(answer))), answer...))
		_, _ = io.ReadFull(c, make([]byte, 4+8)) // its wish to close the session
	}
}

// A server that closes connections may be a leader that serves no clients, if the others follow somebody and none of
// them leads. Otherwise it has lost its ensemble.
func TestInspectSilentServer(t *testing.T) {
	for _, c := range []struct {
		name   string
		modes  []string // "" closes connections
		silent int      // -1: none
		refuse bool
	}{
		{"a leader that serves no clients", []string{"follower", "", "follower"}, 1, false},
		{"the same, first, with an observer", []string{"", "observer", "follower"}, 0, false},
		{"an even number, all of which serve", []string{"follower", "leader", "observer", "follower"}, -1, false},
		{"beside a leader", []string{"leader", "", "follower"}, 0, true},
		{"two of three", []string{"", "follower", ""}, 0, true},
		{"all", []string{"", ""}, 0, true},
	} {
		a := &Access{}
		for _, mode := range c.modes {
			answer := func(net.Conn) {}
			if mode != "" {
				answer = grants(mode)
			}
			a.Servers = append(a.Servers, serveOnce(t, answer))
		}
		f, err := a.Inspect(t.Context())
		if c.refuse {
			if !errors.Is(err, ErrUnusable) || !strings.Contains(fmt.Sprint(err), "serves no clients") {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if slices.Index(a.Servers, f.Silent) != c.silent || f.MaxSessionTimeout == 0 || f.Version != "3.9.3" {
			t.Errorf("%s: %+v", c.name, f)
		}
	}
}

const id = "0123abcd"

// A path is made where the connection string says, bears a mark, is left alone by Clean as long as its run lives, and
// goes with all that is below it.
func TestPath(t *testing.T) {
	s := zktest.Start(t)
	s.Put("/app", nil)
	a := accessTo(s, "/app", "lab:secret")
	p, err := a.MakePath(t.Context(), id, nil)
	if err != nil {
		t.Fatal(err)
	}
	n, ok := s.Node("/app/locklab-" + id)
	if !ok || p.Name != "/app/locklab-"+id || len(n.ACL) != 1 || n.ACL[0].Scheme == "world" {
		t.Errorf("%s: %v, %+v", p.Name, ok, n)
	}
	if _, err := a.MakePath(t.Context(), id, nil); err == nil {
		t.Error("the same path was made twice")
	}
	if err := a.Clean(t.Context(), discard()); err != nil {
		t.Error(err)
	}
	if _, ok := s.Node(p.Name); !ok {
		t.Error("Clean removed the path of a run that lives")
	}
	s.Put(p.Name+"/run1", nil)
	s.Put(p.Name+"/run1/lock0", nil)
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if n, _ := s.Node("/app"); len(n.Children) != 0 || len(s.Sessions()) != 0 {
		t.Errorf("left: %v, sessions %v", n.Children, s.Sessions())
	}
}

// Clean removes what a killed run has left, and nothing else.
func TestClean(t *testing.T) {
	s := zktest.Start(t)
	name := "locklab-" + id
	s.Put("/"+name, []byte(mark(name)))
	s.Put("/"+name+"/run1", nil)
	others := []string{"/locklab-00000000", "/locklab-" + id + "x", "/data"}
	for _, p := range others {
		s.Put(p, []byte("theirs"))
	}
	s.Put("/locklab-11111111", []byte(mark(name))) // of another path
	if err := accessTo(s, "", "").Clean(t.Context(), discard()); err != nil {
		t.Error(err)
	}
	if _, ok := s.Node("/" + name); ok {
		t.Error("the path is left")
	}
	for _, p := range append(others, "/locklab-11111111") {
		if _, ok := s.Node(p); !ok {
			t.Errorf("%s is gone", p)
		}
	}
}

func TestMakePathRefuses(t *testing.T) {
	s := zktest.Start(t)
	owner, err := zksession.Connect(t.Context(), zksession.Config{Servers: s.Addrs(), ACL: zksession.CreatorAll,
		Credentials: []zksession.Credential{zksession.Digest("owner", "owner")}})
	if err != nil {
		t.Fatal(err)
	}
	defer owner.Close(t.Context())
	if _, err := owner.Create(t.Context(), "/closed", nil, zksession.Persistent); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, chroot string
		credential   reach.Secret
		want         string
	}{
		{"no chroot", "/nosuch", "", "there is no znode /nosuch"},
		{"no credential", "/closed", "", "--connect-auth"},
		{"a wrong password", "/closed", "owner:wrong", "password is wrong"},
		{"another user", "/closed", "other:other", "does not name the user"},
	} {
		_, err := accessTo(s, c.chroot, c.credential).MakePath(t.Context(), id, nil)
		if !errors.Is(err, ErrUnusable) || !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if n, _ := s.Node("/closed"); len(n.Children) != 0 {
		t.Errorf("left: %v", n.Children)
	}
}

func TestTargetOpen(t *testing.T) {
	file := filepath.Join(t.TempDir(), "auth")
	if err := os.WriteFile(file, []byte("lab:secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("ZOOKEEPER_AUTH", "lab:secret")
	for _, auth := range []string{"file:" + file, "env:ZOOKEEPER_AUTH"} {
		a, err := Target{Connect: "zk1:2181,zk2:2181/app", Auth: auth}.Open()
		if err != nil {
			t.Fatal(err)
		}
		if a.Credential != "lab:secret" || a.Chroot != "/app" || len(a.Servers) != 2 {
			t.Errorf("%s: %+v", auth, a)
		}
		for _, text := range []string{fmt.Sprintf("%v", a), fmt.Sprintf("%+v", *a), fmt.Sprintf("%#v", a)} {
			if strings.Contains(text, "secret") {
				t.Errorf("shown: %s", text)
			}
		}
	}
	t.Setenv("EMPTY", "")
	for _, c := range []struct {
		target Target
		want   string
	}{
		{Target{Connect: "zk1"}, "want host:port"},
		{Target{Connect: "zk1:2181,zk2:99999"}, `"zk2:99999": 99999 is not a port`},
		{Target{Connect: "zk1:0"}, "0 is not a port"},
		{Target{Connect: "http://zk1:2181"}, "http:// has no place here"},
		{Target{Connect: strings.Repeat("zk1:1,", 9) + "zk1:1"}, "10 servers are named, and at most 9 can be"},
		{Target{Connect: "zk1:client"}, "client is not a port"},
		{Target{Connect: "zk1:2181", Auth: "lab:secret"}, "file:PATH or env:NAME"},
		{Target{Connect: "zk1:2181", Auth: "env:EMPTY"}, "EMPTY is not set"},
		{Target{Connect: "zk1:2181", Auth: "file:" + file + "x"}, "no such file"},
		{Target{Connect: "zk1:2181", CA: file}, "no certificate"},
	} {
		_, err := c.target.Open()
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%+v: %v", c.target, err)
		}
	}
}

// A path whose session has ended is removed by another session.
func TestPathOutlivesItsSession(t *testing.T) {
	s := zktest.Start(t)
	p, err := accessTo(s, "", "").MakePath(t.Context(), id, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.session.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, ok := s.Node(p.Name); ok {
		t.Error("the path is left")
	}
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }
