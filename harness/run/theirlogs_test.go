package run

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/ensembles"
	"locklab/ensembles/labtest"
	"locklab/ensembles/process"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
	"locklab/harness/rundir"
	"locklab/reports/result"
)

// An ensemble elsewhere whose transaction logs can be read here, with other clients that write all the time.
type logged struct {
	*elsewhere
	dirs []string
}

const theirSecret = "their-secret-0815"

func startLogged(t *testing.T) *logged {
	lab := labtest.StartOf(t, process.Kind{}, process.ErrUnavailable, ensembles.HostSpec{Name: "zk1", Publish: true},
		ensembles.HostSpec{Name: "zk2", Publish: true}, ensembles.HostSpec{Name: "zk3", Publish: true},
		ensembles.HostSpec{Name: "c1", Role: ensembles.Client})
	l := &logged{elsewhere: &elsewhere{t: t, binary: labtest.Binary(t), dir: t.TempDir()}}
	hosts, _, ok := strings.Cut(labtest.Shell(t, lab.Host("c1"), "pwd"), "/c1")
	if !ok {
		t.Fatal("where are the directories of the hosts?")
	}
	var servers []string
	for _, h := range labtest.StartEnsemble(t, lab).Servers {
		servers = append(servers, h.Published.String())
		l.dirs = append(l.dirs, filepath.Join(hosts, h.Name, "zookeeper"))
	}
	l.address = strings.Join(servers, ",")
	var err error
	if l.admin, _, err = zk.Connect(servers, 10*time.Second, zk.WithLogInfo(false)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.admin.Close)
	if err := l.admin.AddAuth("digest", []byte("lab:"+theirPassword)); err != nil {
		t.Fatal(err)
	}
	l.create("/app", "", zk.WorldACL(zk.PermAll)...)
	l.create("/"+theirSecret, theirSecret, zk.AuthACL(zk.PermAll)...)
	l.write("auth", []byte("lab:"+theirPassword))
	// A run that is over before the servers are pinged a second time.
	l.write("plain.yaml", []byte(strings.NewReplacer("iterations: 10", "iterations: 1", "min-acquired: 5",
		"min-acquired: 1").Replace(plainElsewhere)))
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
			}
			_, _ = l.admin.Create(fmt.Sprintf("/%s/%d", theirSecret, i), []byte(theirSecret), 0, zk.AuthACL(zk.PermAll))
		}
	}()
	t.Cleanup(func() { close(stop); <-stopped })
	return l
}

// judged carries out a run with the logs in some directories.
func (l *logged) judged(t *testing.T, dirs ...string) (result.CheckLine, string) {
	t.Helper()
	out := filepath.Join(t.ArtifactDir(), "run")
	_, _, said := l.run("run", filepath.Join(l.dir, "plain.yaml"), "--connect", l.address+"/app", "--connect-auth",
		"file:"+filepath.Join(l.dir, "auth"), "--txnlog-dir", strings.Join(dirs, ","), "--out", out)
	r, err := result.Read(out)
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	for _, c := range r.Checks {
		if c.Name == evidence.ServiceExclusion {
			return c, out
		}
	}
	t.Fatal("the servers' grants were not judged")
	return result.CheckLine{}, ""
}

// placedByPings makes sure that the servers' clocks are placed by pings, of which the last comes when all clients have
// ended, and never by this machine's clock.
func placedByPings(t *testing.T, dir string) {
	t.Helper()
	events, _, err := history.ReadRaw(rundir.HostsDir(dir), nil)
	if err != nil {
		t.Fatal(err)
	}
	ended := map[string]bool{} // by server
	var phase history.Phase
	for _, e := range events.Of(history.OpPhase, history.OpPing, history.OpClock) {
		switch e.Op {
		case history.OpPhase:
			phase = e.Phase()
		case history.OpPing:
			ended[e.Ping().Server] = phase == history.PhaseDrain
		case history.OpClock:
			if e.WallClock().Host == "" {
				t.Error("this machine's clock was read")
			}
		}
	}
	for _, server := range []string{"zk1", "zk2", "zk3"} {
		if !ended[server] {
			t.Errorf("%s was not pinged at the end of the run", server)
		}
	}
}

// With the logs of a majority of the servers, the grants of a run are judged by them. Nothing that others wrote is in
// the run directory. No other test runs meanwhile: the servers' clocks are placed by pings, and where none is answered
// within a tenth of a second, the logs rightly prove nothing.
func TestTheirTransactionLogs(t *testing.T) {
	l := startLogged(t)
	for n := 2; n <= 3; n++ {
		t.Run(fmt.Sprintf("of %d servers", n), func(t *testing.T) {
			c, out := l.judged(t, l.dirs[:n]...)
			if c.Result != evidence.Pass {
				t.Errorf("%s: %s", c.Result, c.Summary)
			}
			placedByPings(t, out)
			logs := 0
			err := filepath.WalkDir(out, func(file string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				b, err := os.ReadFile(file)
				for _, secret := range []string{theirSecret, theirPassword, zk.DigestACL(0, "lab", theirPassword)[0].ID} {
					if bytes.Contains(b, []byte(secret)) {
						t.Errorf("%s has %q", file, secret)
					}
				}
				if strings.Contains(file, "txnlog") {
					logs++
				}
				return err
			})
			if err != nil || logs < n {
				t.Errorf("%d logs of %d servers, %v", logs, n, err)
			}
		})
	}
	t.Run("that end before the run", func(t *testing.T) {
		stale := filepath.Join(t.TempDir(), "version-2")
		if err := os.CopyFS(stale, os.DirFS(filepath.Join(l.dirs[0], "version-2"))); err != nil {
			t.Fatal(err)
		}
		if c, _ := l.judged(t, filepath.Dir(stale), filepath.Dir(stale)); c.Result != evidence.Unknown {
			t.Errorf("%s: %s", c.Result, c.Summary)
		}
	})
	t.Run("nowhere", func(t *testing.T) {
		code, _, said := l.run("run", filepath.Join(l.dir, "plain.yaml"), "--connect", l.address+"/app",
			"--txnlog-dir", l.dir+","+l.dirs[1], "--out", filepath.Join(t.TempDir(), "run"))
		if last := lastLine(said); code != 2 || !strings.Contains(last, "--txnlog-dir: "+l.dir+" has no transaction logs") {
			t.Errorf("ended with %d: %s", code, last)
		}
	})
}
