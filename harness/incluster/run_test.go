package incluster

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/ensembles/agent/serve"
	"locklab/ensembles/kubernetes"
	"locklab/ensembles/labtest"
	"locklab/harness/check/evidence"
	"locklab/harness/judge"
	"locklab/harness/run"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
)

// startAgent starts an agent in this process.
func startAgent(t *testing.T) *agent.Client {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	listening, ended := make(chan net.Addr, 1), make(chan error, 1)
	go func() {
		ended <- serve.Run(ctx, serve.Config{Host: "harness", Secret: "s3cret", Lease: kubernetes.Lease, Root: t.TempDir(),
			Listen: "127.0.0.1:0", Listening: func(a net.Addr) { listening <- a }, Log: slog.New(slog.DiscardHandler)})
	}()
	a := agent.NewClient("harness", (<-listening).String(), "s3cret")
	t.Cleanup(func() {
		a.Close()
		cancel()
		<-ended
	})
	return a
}

// What the harness prints arrives whole and once, and so does its record.
func TestCollect(t *testing.T) {
	a := startAgent(t)
	const script = `for i in 1 2 3 4 5 6 7 8; do echo line $i; sleep 0.1; done
		mkdir -p ../run/hosts/zk1 && echo history >../run/hosts/zk1/history && echo result >../run/result.json; echo last`
	if _, err := a.Start(t.Context(), agent.Spec{Argv: []string{"/bin/sh", "-c", script}, Dir: workDir}); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	dir := filepath.Join(t.TempDir(), "runs", "one")
	if err := collect(t.Context(), a, dir, &said); err != nil {
		t.Fatal(err)
	}
	if want := "line 1\nline 2\nline 3\nline 4\nline 5\nline 6\nline 7\nline 8\nlast\n"; said.String() != want {
		t.Errorf("the progress is %q", said.String())
	}
	for name, want := range map[string]string{"result.json": "result\n", "hosts/zk1/history": "history\n"} {
		if b, err := os.ReadFile(filepath.Join(dir, name)); string(b) != want || err != nil {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	if left, _ := filepath.Glob(dir + ".*"); left != nil {
		t.Errorf("left: %v", left)
	}
}

// A harness that ends before there is a record is reported with its exit code.
func TestCollectNothing(t *testing.T) {
	for script, want := range map[string]Failure{
		"echo no image; exit 7": {Code: 7, How: "exit status 7"},
		"kill -9 $$":            {How: "killed"},
	} {
		t.Run(want.How, func(t *testing.T) { // the agent reaps all of this process's children
			a := startAgent(t)
			if _, err := a.Start(t.Context(), agent.Spec{Argv: []string{"/bin/sh", "-c", script}, Dir: workDir}); err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(t.TempDir(), "one")
			err := collect(t.Context(), a, dir, new(bytes.Buffer))
			if f, is := errors.AsType[*Failure](err); !is || *f != want {
				t.Error(err)
			}
			if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("there is a directory: %v", err)
			}
		})
	}
}

const small = `
name: small
lab: kubernetes
clients: 4
client-processes: 2
warmup: 300ms
duration: 3s
storage: tmpfs
tick: 200ms
session-timeout: 2s
`

func load(t *testing.T, source string) *scenario.Scenario {
	t.Helper()
	sc, err := scenario.Load("small.yaml", []byte(source))
	if err == nil {
		err = sc.Validate()
	}
	if err != nil {
		t.Fatal(err)
	}
	sc.Seed = 1
	return sc
}

func TestCheck(t *testing.T) {
	if err := Check(load(t, small)); err != nil {
		t.Error(err)
	}
	onNetns := strings.Replace(small, "lab: kubernetes", "lab: netns", 1)
	for source, want := range map[string]string{
		onNetns: "small.yaml:3:1: a harness in the cluster makes labs of kind kubernetes, " +
			"and not netns",
		small + "recipe: exec:./none\n":   "small.yaml:11:1: the lock's command: stat ./none: no such file",
		small + "recipe: curator-mutex\n": "small.yaml:11:1: curator-mutex needs jars of this machine",
	} {
		if err := Check(load(t, source)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
}

// wantWholePass checks that a run passed and left a whole record of a lab of that name.
func wantWholePass(t *testing.T, out judge.Outcome, lab string) {
	t.Helper()
	if r := out.Result; r.Verdict != evidence.Pass || r.Operations.Acquired == 0 || r.Partial {
		t.Errorf("%s, %d acquired, partial: %v: %s", r.Verdict, r.Operations.Acquired, r.Partial, r.Headline)
	}
	if env, err := rundir.ReadEnv(out.Dir); err != nil || env.Lab != lab {
		t.Errorf("the lab is called %q: %v", env.Lab, err)
	}
}

// A run in the cluster leaves the same record as one from here.
func TestARunInTheCluster(t *testing.T) {
	labtest.RequireKind(t, kubernetes.Kind{})
	dir := filepath.Join(t.ArtifactDir(), "run")
	out, err := Execute(t.Context(), load(t, small), dir, Options{Binary: labtest.Binary(t), Log: labtest.Log(t),
		Progress: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	wantWholePass(t, out, ensembles.LabKubernetes)
}

// The clients of a run on an ensemble that is already there can be pods.
func TestARunOnAnEnsembleOfTheCluster(t *testing.T) {
	labtest.RequireKind(t, kubernetes.Kind{})
	lab := labtest.Start(t, ensembles.HostSpec{Name: "zk1", Publish: true}, ensembles.HostSpec{Name: "zk2"},
		ensembles.HostSpec{Name: "zk3"})
	servers := labtest.StartEnsemble(t, lab).Servers
	var at []string
	for _, h := range servers {
		at = append(at, h.Server.String())
	}
	before := znodes(t, servers[0])
	dir := filepath.Join(t.ArtifactDir(), "run")
	source := strings.NewReplacer("storage: tmpfs\n", "", "tick: 200ms\n", "").Replace(small)
	out, err := Execute(t.Context(), load(t, source+"connect: "+strings.Join(at, ",")+"\n"), dir,
		Options{Binary: labtest.Binary(t), Log: labtest.Log(t), Progress: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	wantWholePass(t, out, ensembles.ElsewhereName)
	if after := znodes(t, servers[0]); !slices.Equal(before, after) {
		t.Errorf("%v before, and %v after", before, after)
	}
}

// znodes lists the znodes below the root, by way of a port-forward.
func znodes(t *testing.T, h *ensembles.Host) []string {
	t.Helper()
	c, _, err := zk.Connect([]string{h.Published.String()}, 10*time.Second, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	names, _, err := c.Children("/")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}

// An interrupt ends the run in the cluster, and what it recorded until then is fetched.
func TestAnInterruptedRunInTheCluster(t *testing.T) {
	labtest.RequireKind(t, kubernetes.Kind{})
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	sc := load(t, strings.Replace(small, "duration: 3s", "duration: 10m", 1))
	busy := regexp.MustCompile(`measure +[1-9][0-9]* acquired/s`)
	out, err := Execute(ctx, sc, filepath.Join(t.ArtifactDir(), "run"), Options{Binary: labtest.Binary(t),
		Log: labtest.Log(t), Progress: writer(func(text []byte) {
			t.Log(string(text))
			if busy.Match(text) {
				cancel(run.ErrInterrupted)
			}
		})})
	if err != nil {
		t.Fatal(err)
	}
	if !out.Interrupted || out.Result.Operations.Acquired == 0 {
		t.Errorf("interrupted: %v, %d acquired", out.Interrupted, out.Result.Operations.Acquired)
	}
}

type writer func([]byte)

func (w writer) Write(b []byte) (int, error) {
	w(b)
	return len(b), nil
}

// What goes wrong in the cluster before there is a record is said here.
func TestAFailureInTheCluster(t *testing.T) {
	labtest.RequireKind(t, kubernetes.Kind{})
	t.Setenv(ensembles.EnvImage, "locklab.invalid/none:1")
	var said bytes.Buffer
	_, err := Execute(t.Context(), load(t, small), filepath.Join(t.TempDir(), "run"), Options{Binary: labtest.Binary(t),
		Log: labtest.Log(t), Progress: &said})
	if f, is := errors.AsType[*Failure](err); !is || f.Code == 0 {
		t.Error(err)
	}
	if !strings.Contains(said.String(), "ErrImagePull") {
		t.Errorf("said: %s", said.String())
	}
}
