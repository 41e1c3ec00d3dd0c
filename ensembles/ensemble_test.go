package ensembles_test

import (
	"io"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/go-cmp/cmp"

	"locklab/ensembles"
	"locklab/ensembles/kubernetes"
	"locklab/ensembles/labtest"
)

func TestEnsemble(t *testing.T) {
	lab := labtest.Start(t, ensembles.HostSpec{Name: "zk1", Publish: true, Disk: true},
		ensembles.HostSpec{Name: "zk2", Publish: true},
		ensembles.HostSpec{Name: "zk3", Publish: true})

	// Its times are exact, and nothing of a run on one machine has to be placed.
	t.Run("all hosts of this machine have its clock", func(t *testing.T) {
		if labtest.Kind() == (kubernetes.Kind{}).Name() {
			t.Skip("the hosts may be of several machines")
		}
		for _, h := range lab.Hosts(ensembles.Server) {
			reading, _, err := h.Agent.ReadClock(t.Context())
			if err != nil || !reading.Same || h.Agent.ToRun(5) != 5 {
				t.Errorf("%s: %+v %v", h.Name, reading, err)
			}
		}
	})

	t.Run("a server that dies at the start", func(t *testing.T) {
		bad := labtest.ServerConfig()
		bad.Tick = 0
		begun := time.Now()
		_, err := ensembles.StartEnsemble(t.Context(), lab, bad)
		if err == nil || !strings.Contains(err.Error(), "ended: exit status") ||
			!strings.Contains(err.Error(), "tickTime is not set") {
			t.Errorf("the error does not say what happened: %v", err)
		}
		if strings.Count(err.Error(), "server zk1 ended") > 1 {
			t.Errorf("the error says it twice: %v", err)
		}
		t.Logf("reported after %v", time.Since(begun))
		for _, h := range lab.Hosts(ensembles.Server) {
			_, _ = h.Agent.Kill(t.Context()) // most have ended
		}
	})

	begun := time.Now()
	e := labtest.StartEnsemble(t, lab)
	t.Logf("ready after %v", time.Since(begun))

	t.Run("one leads, the others follow, each commits", func(t *testing.T) {
		roles, err := e.Roles(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		count := map[string]int{}
		for _, r := range roles {
			count[r]++
		}
		if count[ensembles.RoleLeader] != 1 || count[ensembles.RoleFollower] != 2 {
			t.Errorf("roles: %v", roles)
		}
		leader, err := e.Leader(t.Context())
		if err != nil || roles[leader.Name] != ensembles.RoleLeader {
			t.Errorf("leader: %v, %v", leader, err)
		}
		for _, h := range e.Servers {
			before := e.Metrics(t.Context())[leader.Name]["zk_proposal_count"]
			if err := h.Agent.CommitWrite(t.Context()); err != nil {
				t.Errorf("%s: %v", h.Name, err)
			}
			after := e.Metrics(t.Context())[leader.Name]["zk_proposal_count"]
			if after < before+2 { // the znode's creation and deletion, at least
				t.Errorf("through %s: %v proposals before, %v after", h.Name, before, after)
			}
		}
		version, err := e.Version(t.Context())
		if err != nil || !strings.HasPrefix(version, "3.") || strings.ContainsAny(version, "-, ") {
			t.Errorf("version %q, %v", version, err)
		}
	})
	t.Run("configured as asked", func(t *testing.T) {
		var addresses []netip.Addr
		for _, h := range e.Servers {
			addresses = append(addresses, h.Address)
		}
		for i, h := range e.Servers {
			r, err := h.Agent.File(t.Context(), "zookeeper/zoo.cfg")
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(r)
			r.Close()
			if diff := cmp.Diff(ensembles.ZooCfg(e.Config, addresses, i+1), string(b)); diff != "" || err != nil {
				t.Errorf("%s: %v (-want +got):\n%s", h.Name, err, diff)
			}
			// This is what the server made of it.
			conf, err := h.Agent.Ask(t.Context(), "conf")
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{"tickTime=200\n", "maxClientCnxns=0\n", "minSessionTimeout=400\n",
				"maxSessionTimeout=60000\n",
				"initLimit=20\n", "syncLimit=5\n"} {
				if !strings.Contains(conf, want) {
					t.Errorf("%s: no %q in\n%s", h.Name, want, conf)
				}
			}
			// In a lab of child processes, hosts have their data in directories of this machine.
			if !regexp.MustCompile(`(?m)^dataDir=/.*/zookeeper/(\./)*version-2$`).MatchString(conf) {
				t.Errorf("%s: the data is elsewhere in\n%s", h.Name, conf)
			}
		}
	})
	t.Run("logs", func(t *testing.T) {
		for _, h := range e.Servers {
			r, err := h.Agent.File(t.Context(), ensembles.ServerLog)
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(r)
			r.Close()
			if log := string(b); err != nil || !strings.Contains(log, "[myid:") || !strings.Contains(log, "LEADING") &&
				!strings.Contains(log, "FOLLOWING") {
				t.Errorf("the log of %s does not contain its role: %v\n%s", h.Name, err, log)
			}
		}
	})
	t.Run("metrics", func(t *testing.T) {
		all := e.Metrics(t.Context())
		for _, h := range e.Servers {
			m := all[h.Name]
			if m["zk_znode_count"] < 4 || m["zk_packets_received"] <= 0 || m["zk_open_file_descriptor_count"] <= 0 {
				t.Errorf("%s: %d metrics, znodes %v, packets %v", h.Name, len(m), m["zk_znode_count"], m["zk_packets_received"])
			}
		}
	})
	t.Run("session limits", func(t *testing.T) {
		for asked, want := range map[time.Duration]string{100 * time.Millisecond: "to=400,", 3 * time.Second: "to=3000,",
			time.Hour: "to=60000,"} {
			h := e.Servers[1]
			conn, events, err := zk.Connect([]string{h.Published.String()}, asked, zk.WithLogger(quiet{}))
			if err != nil {
				t.Fatal(err)
			}
			for ev := range events {
				if ev.State == zk.StateHasSession {
					break
				}
			}
			cons, err := h.Agent.Ask(t.Context(), "cons")
			if err != nil || !strings.Contains(cons, want) {
				t.Errorf("asked for %v: no %q in\n%s%v", asked, want, cons, err)
			}
			conn.Close()
		}
	})
	t.Run("a dead server is left out, and a restarted one is back", func(t *testing.T) {
		h := e.Servers[2]
		if _, err := h.Agent.Kill(t.Context()); err != nil {
			t.Fatal(err)
		}
		if roles, err := e.Roles(t.Context()); err != nil || roles[h.Name] != "" {
			t.Errorf("roles with %s dead: %v, %v", h.Name, roles, err)
		}
		if m := e.Metrics(t.Context()); m[h.Name] != nil {
			t.Errorf("metrics of a dead server: %v", m[h.Name])
		}
		if _, err := h.Agent.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := e.AwaitReady(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("storage", func(t *testing.T) {
		for host, tmpfs := range map[string]bool{"zk1": false, "zk2": true} {
			h := lab.Host(host)
			if _, err := h.Agent.Kill(t.Context()); err != nil {
				t.Fatal(err)
			}
			said := labtest.Shell(t, h, "ls ../zookeeper/version-2; stat --file-system --format 'on %T' .")
			if !strings.Contains(said, "log.") || strings.Contains(said, "on tmpfs") != tmpfs {
				t.Errorf("%s:\n%s", host, said)
			}
		}
	})
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

// The last thing that a server complained of says best why an ensemble did not form.
func TestComplaint(t *testing.T) {
	const first = "12:00:00 [myid:] - WARN  [main:ServerCnxnFactory@309] - maxCnxns is not configured"
	const last = "12:00:01 [myid:2] - WARN  [NIOWorkerThread-1:NIOServerCnxn@383] - Close of session 0x0"
	const info = "12:00:02 [myid:2] - INFO  [main:QuorumPeer@1] - FOLLOWING"
	const trace = last + "\njava.io.EOFException\n\tat java.io.DataInputStream\n"
	for log, want := range map[string]string{
		"":                  "",
		info:                "",
		first + "\n" + info: first,
		trace + info:        last + ": java.io.EOFException",
		trace + first:       first,
	} {
		if got := ensembles.Complaint(log); got != want {
			t.Errorf("of %q: %q, want %q", log, got, want)
		}
	}
}
