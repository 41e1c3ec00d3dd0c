package run

import (
	"bytes"
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	gocmp "github.com/google/go-cmp/cmp"

	"locklab/ensembles"
	"locklab/ensembles/labtest"
	"locklab/ensembles/labtest/curatortest"
	"locklab/ensembles/labtest/suite"
	"locklab/harness/check/evidence"
	"locklab/reports/result"
)

// pausedElsewhere is a short run in which a client is stopped for longer than its session.
const pausedElsewhere = `
name: paused
clients: 4
client-processes: 2
victim-alone: true
observer: true
hold: 20ms
think: 200ms
warmup: 300ms
duration: 9s
min-acquired: 5
session-timeout: 4s
storage: tmpfs
faults:
  - {kind: pause, target: c1, trigger: before-write, until: superseded, linger: 200ms}
expect: {belief-exclusion: fail, effect: fail, fairness: any}
shown: {overlaps: 1, stale_accepted: 1}
`

// plainElsewhere is a short run without faults. Its file has settings of servers, which the ensemble's replace.
const plainElsewhere = `
name: plain
clients: 4
client-processes: 2
guard: fencing
warmup: 0s
iterations: 10
min-acquired: 5
session-timeout: 4s
tick: 100ms
storage: tmpfs
`

// znodesElsewhere is a short run in which somebody else makes znodes beside those of the lock.
const znodesElsewhere = `
name: znodes
clients: 4
client-processes: 2
guard: fencing
hold: 20ms
think: 200ms
warmup: 300ms
duration: 6s # the fault, and a session timeout to recover
min-acquired: 5
session-timeout: 4s
faults:
  - {kind: foreign-children, target: all, at: 500ms, for: 1s}
`

// slowElsewhere is a short run in which one client's packets are delayed, which only a relay can do there.
const slowElsewhere = `
name: slow
clients: 4
client-processes: 2
guard: fencing
hold: 20ms
think: 200ms
warmup: 300ms
duration: 6s # the fault, and a session timeout to recover
min-acquired: 5
session-timeout: 4s
faults:
  - {kind: latency, target: c2, from: servers, latency: 20ms, at: 500ms, for: 1s}
`

// An elsewhere is an ensemble that locklab did not start for its runs: a server with data and ACLs in it, behind TLS.
type elsewhere struct {
	t       *testing.T
	binary  string
	dir     string // has the files for TLS and the credentials
	address string
	admin   *zk.Conn
	delay   atomic.Int64 // of every answer of the servers, in ns
}

const (
	theirPassword = "never-shown-4711"
	wrongPassword = "wrong-1234"
)

func startElsewhere(t *testing.T) *elsewhere {
	lab := labtest.Start(t, ensembles.HostSpec{Name: "zk1", Publish: true})
	server := labtest.StartEnsemble(t, lab).Servers[0].Published.String()
	e := &elsewhere{t: t, binary: labtest.Binary(t), dir: t.TempDir()}
	var err error
	if e.admin, _, err = zk.Connect([]string{server}, 10*time.Second, zk.WithLogInfo(false)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.admin.Close)
	for _, user := range []string{"lab:" + theirPassword, "owner:owner"} {
		if err := e.admin.AddAuth("digest", []byte(user)); err != nil {
			t.Fatal(err)
		}
	}
	entry := func(perms int32, user, password string) zk.ACL { return zk.DigestACL(perms, user, password)[0] }
	e.create("/app", "theirs", entry(zk.PermAll, "owner", "owner"),
		entry(zk.PermRead|zk.PermCreate|zk.PermDelete, "lab", theirPassword), entry(zk.PermRead, "reader", "reader"))
	e.create("/app/data", "more of theirs", entry(zk.PermAll, "owner", "owner"))
	e.create("/app/locklab-00000000", "bears a name like ours, and no mark", zk.WorldACL(zk.PermAll)...)
	e.create("/other", "", zk.WorldACL(zk.PermAll)...)
	e.address = e.front(server)
	for name, text := range map[string]string{"auth": "lab:" + theirPassword, "wrong": "lab:" + wrongPassword,
		"reader": "reader:reader", "plain.yaml": plainElsewhere, "paused.yaml": pausedElsewhere,
		"unbounded.yaml": strings.ReplaceAll(plainElsewhere, "iterations: 10", "duration: 5s"),
		"znodes.yaml":    znodesElsewhere,
		"slow.yaml":      slowElsewhere,
		"kill.yaml":      plainElsewhere + "faults: [{kind: kill, target: zk1, at: 100ms, for: 300ms}]\n"} {
		e.write(name, []byte(text))
	}
	return e
}

func (e *elsewhere) create(path, data string, acl ...zk.ACL) {
	e.t.Helper()
	if _, err := e.admin.Create(path, []byte(data), 0, acl); err != nil {
		e.t.Fatal(err)
	}
}

func (e *elsewhere) write(name string, b []byte) string {
	e.t.Helper()
	file := filepath.Join(e.dir, name)
	if err := os.WriteFile(file, b, 0o600); err != nil {
		e.t.Fatal(err)
	}
	return file
}

// front serves a server's clients by TLS, if they show a certificate. It writes the files that clients need.
func (e *elsewhere) front(server string) string {
	t := e.t
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	// One certificate is the authority, the server's and the client's.
	about := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	e.write("cert.pem", cert)
	e.write("key.pem", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(cert)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{ClientCAs: trusted, ClientAuth: tls.RequireAndVerifyClientCert,
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}})
	if err != nil {
		t.Fatal(err)
	}
	return labtest.Accept(t, l, func(c net.Conn) {
		s, err := net.Dial("tcp", server)
		if err != nil {
			return
		}
		defer s.Close()
		go func() {
			_, _ = io.Copy(s, c)
			s.Close()
		}()
		b := make([]byte, 32<<10)
		for {
			n, err := s.Read(b)
			time.Sleep(time.Duration(e.delay.Load()))
			if _, wrote := c.Write(b[:n]); err != nil || wrote != nil {
				return
			}
		}
	})
}

// way is the flags that lead to the ensemble with a credential of that name.
func (e *elsewhere) way(auth string) []string {
	return []string{"--connect", e.address + "/app", "--connect-ca", filepath.Join(e.dir, "cert.pem"),
		"--connect-cert", filepath.Join(e.dir, "cert.pem"), "--connect-key", filepath.Join(e.dir, "key.pem"),
		"--connect-auth", "file:" + filepath.Join(e.dir, auth)}
}

// command returns a command line whose temporary files are in a directory of their own.
func (e *elsewhere) command(temp string, args ...string) *exec.Cmd {
	cmd := exec.Command(e.binary, args...)
	cmd.Env = append(os.Environ(), "TMPDIR="+temp)
	return cmd
}

// run carries out a command line and returns how it ended.
func (e *elsewhere) run(args ...string) (code int, stdout, stderr string) {
	e.t.Helper()
	temp := e.t.TempDir()
	cmd := e.command(temp, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		code = exit.ExitCode()
	} else if err != nil {
		e.t.Fatal(err)
	}
	for _, text := range []string{out.String(), errs.String()} {
		if strings.Contains(text, theirPassword) || strings.Contains(text, wrongPassword) {
			e.t.Errorf("%v shows a password:\n%s", args, text)
		}
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		e.t.Errorf("%v left %v, %v", args, left, err)
	}
	return code, out.String(), errs.String()
}

// A znode is all that a client can see of one.
type znode struct {
	Data string
	ACL  []zk.ACL
	Stat zk.Stat
}

// tree returns all znodes. Making and removing a path changes the counters of its parent, so they are left out.
func (e *elsewhere) tree() map[string]znode {
	e.t.Helper()
	all := map[string]znode{}
	var look func(p string)
	look = func(p string) {
		data, stat, err := e.admin.Get(p)
		var n znode
		if err == nil {
			n = znode{Data: string(data), Stat: *stat}
			n.ACL, _, err = e.admin.GetACL(p)
		}
		var children []string
		if err == nil {
			children, _, err = e.admin.Children(p)
		}
		if errors.Is(err, zk.ErrNoNode) {
			return
		}
		if err != nil {
			e.t.Fatalf("%s: %v", p, err)
		}
		if p == "/app" {
			n.Stat.Cversion, n.Stat.Pzxid = 0, 0
		}
		all[p] = n
		for _, c := range children {
			look(path.Join(p, c))
		}
	}
	look("/")
	return all
}

// A run on an ensemble that locklab did not start uses its own path there, and nothing else.
func TestElsewhere(t *testing.T) {
	t.Parallel()
	e := startElsewhere(t)
	before := e.tree()
	unchanged := func(t *testing.T) {
		t.Helper()
		if diff := gocmp.Diff(before, e.tree()); diff != "" {
			t.Errorf("the ensemble's tree has changed (-before +after):\n%s", diff)
		}
	}
	for _, c := range []struct {
		name, file, auth string
		connect          string // instead of the address
		code             int    // 7 if it is 0
		want             []string
	}{
		{name: "a typo in the address", connect: "nosuch.invalid:2181", want: []string{"nosuch.invalid:2181", "--connect"}},
		{name: "a wrong password", auth: "wrong", want: []string{"user lab", "the password is wrong", "/app"}},
		{name: "a missing permission", auth: "reader", want: []string{"ACL of /app", "user reader", "create"}},
		{name: "a missing chroot", connect: e.address + "/nosuch", want: []string{"no znode /nosuch"}},
		{name: "a load without a bound", file: "unbounded.yaml", code: 2, want: []string{"4 clients ask again at once",
			"--yes"}},
		{name: "a server's fault", file: "kill.yaml", want: []string{"kill of zk1", "kill.yaml:"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := append([]string{"run", filepath.Join(e.dir, cmp.Or(c.file, "plain.yaml")), "--out",
				filepath.Join(t.TempDir(), "run")}, e.way(cmp.Or(c.auth, "auth"))...)
			if c.connect != "" {
				args = append(args, "--connect", c.connect)
			}
			code, _, said := e.run(args...)
			last := lastLine(said)
			if want := cmp.Or(c.code, 7); code != want {
				t.Errorf("ended with %d, want %d:\n%s", code, want, said)
			}
			for _, want := range c.want {
				if !strings.Contains(last, want) {
					t.Errorf("the last line does not contain %q: %s", want, last)
				}
			}
			unchanged(t)
		})
	}
	t.Run("a run that passes", func(t *testing.T) { e.judged(t, "plain", evidence.Pass); unchanged(t) })
	t.Run("a pause that shows damage", func(t *testing.T) {
		r := e.judged(t, "paused", evidence.Pass)
		if r.Safety.Overlaps == nil || *r.Safety.Overlaps == 0 || len(r.Faults) != 1 || !r.Faults[0].HealVerified {
			t.Errorf("overlaps %v, faults %+v", r.Safety.Overlaps, r.Faults)
		}
		unchanged(t)
	})
	t.Run("recipes that connect themselves", func(t *testing.T) {
		program := filepath.Join(t.TempDir(), "zk-lock")
		build := exec.Command("go", "build", "-o", program, "locklab/workloads/foreign/examples/zk-lock")
		if said, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
		for _, recipe := range []string{"zk-lock", "exec:" + program, "curator-mutex"} {
			t.Run(filepath.Base(recipe), func(t *testing.T) {
				if recipe == "curator-mutex" {
					suite.Nightly(t, "exec: runs a program every time")
					curatortest.Require(t, "")
				}
				r := e.judged(t, "plain", evidence.Pass, "--recipe", recipe, "--guard", "none")
				if r.Operations.Acquired == 0 {
					t.Errorf("nothing was acquired: %s", r.Headline)
				}
				unchanged(t)
			})
		}
	})
	t.Run("a fault that needs a relay", func(t *testing.T) {
		r := e.judged(t, "slow", evidence.Pass)
		if len(r.Faults) != 1 || !r.Faults[0].Verified {
			t.Errorf("faults %+v", r.Faults)
		}
		if all := strings.Join(r.Warnings, "\n"); !strings.Contains(all, "c2: what clients send to servers passes through") {
			t.Errorf("no warning says which client's connections pass through a relay:\n%s", all)
		}
		unchanged(t)
	})
	t.Run("a fault of znodes", func(t *testing.T) { e.judged(t, "znodes", evidence.Pass); unchanged(t) })
	t.Run("a sweep and a plan", func(t *testing.T) {
		suite.Nightly(t, "a run that passes has the same load; the scripts of the command line sweep and plan")
		e.planned(t)
		unchanged(t)
	})
	t.Run("a bench", func(t *testing.T) {
		suite.Nightly(t, "a run that passes has the same load; harness/series/bench compares on a lab")
		e.benched(t)
		unchanged(t)
	})
	t.Run("an ensemble that is slow", func(t *testing.T) { e.spared(t); unchanged(t) })
	t.Run("a killed harness", func(t *testing.T) { e.killed(t); unchanged(t) })
}

// judged carries out a scenario and checks what the result can and cannot say.
func (e *elsewhere) judged(t *testing.T, name string, want evidence.Result, flags ...string) result.Result {
	t.Helper()
	out := filepath.Join(t.ArtifactDir(), name)
	code, stdout, said := e.run(slices.Concat([]string{"run", filepath.Join(e.dir, name+".yaml"), "--json", "--out", out},
		flags, e.way("auth"))...)
	var r result.Result
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	if code != 0 || r.Verdict != want {
		t.Errorf("ended with %d and %s: %s\n%s", code, r.Verdict, r.Headline, said)
	}
	for _, c := range r.Checks {
		if c.Name == evidence.ServiceExclusion && c.Result != evidence.NotApplicable {
			t.Errorf("%s is %s without the servers' logs", c.Name, c.Result)
		}
	}
	program := slices.ContainsFunc(flags, func(f string) bool {
		return strings.HasPrefix(f, "exec:") || strings.HasPrefix(f, "curator-")
	})
	relayed := strings.Contains(strings.Join(r.Warnings, "\n"), "passes through a process of locklab's")
	if relayed != (name == "slow" || program) {
		t.Errorf("connections pass through relays: %t: %q", relayed, r.Warnings)
	}
	if r.Server.RequestsPerAcquire != nil || r.Server.WatchesFiredPerRelease != nil || r.Lab != "connect" {
		t.Errorf("lab %s, costs %+v", r.Lab, r.Server)
	}
	err := filepath.WalkDir(out, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(file)
		if bytes.Contains(b, []byte(theirPassword)) {
			err = fmt.Errorf("%s has the password", file)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return r
}

// contended waits until clients contend for the lock.
func (e *elsewhere) contended(t *testing.T) {
	t.Helper()
	await(t, "contenders", func() error {
		if n := e.owned(); n < 3 { // one is the sign that the run lives
			return fmt.Errorf("%d ephemeral znodes", n)
		}
		return nil
	})
}

// owned counts the ephemeral znodes of runs.
func (e *elsewhere) owned() (ephemerals int) {
	for p, n := range e.tree() {
		if strings.HasPrefix(p, "/app/locklab-") && n.Stat.EphemeralOwner != 0 {
			ephemerals++
		}
	}
	return ephemerals
}

func await(t *testing.T, what string, ok func() error) {
	t.Helper()
	if err := ensembles.Poll(t.Context(), 50*time.Millisecond, what, ok); err != nil {
		t.Fatal(err)
	}
}

// killed kills the harness in the middle of a run. Its processes end, and clean removes the path.
func (e *elsewhere) killed(t *testing.T) {
	temp := t.TempDir()
	cmd := e.command(temp, append([]string{"run", filepath.Join(e.dir, "plain.yaml"), "--duration", "1m", "--yes", "--out",
		filepath.Join(t.TempDir(), "run")}, e.way("auth")...)...)
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	e.contended(t)
	if code, _, said := e.run(append([]string{"clean"}, e.way("auth")...)...); code != 0 || e.owned() == 0 {
		t.Errorf("clean beside a run ended with %d, or removed the run's path:\n%s", code, said)
	}
	// Somebody looks at the run's locks meanwhile.
	for _, look := range []struct {
		auth string
		code int
		want []string
	}{
		{"auth", 6, []string{"queue", "/app/data may not be read", "none of them a write"}},
		{"wrong", 6, []string{"/app may not be read."}},
	} {
		code, shown, said := e.run(append([]string{"inspect", e.address + "/app"}, e.way(look.auth)[2:]...)...)
		for _, want := range look.want {
			if code != look.code || !strings.Contains(shown, want) {
				t.Errorf("a look ended with %d, want %d and %q:\n%s%s", code, look.code, want, shown, said)
			}
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	await(t, "the processes to end", func() error {
		left, err := os.ReadDir(temp)
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("%v are left", left)
		}
		return err
	})
	await(t, "the sessions to expire", func() error {
		if n := e.owned(); n > 0 {
			return fmt.Errorf("%d ephemeral znodes", n)
		}
		return nil
	})
	code, _, said := e.run(append([]string{"clean"}, e.way("auth")...)...)
	if code != 0 || !strings.Contains(said, "remove leftover") {
		t.Errorf("clean ended with %d:\n%s", code, said)
	}
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
