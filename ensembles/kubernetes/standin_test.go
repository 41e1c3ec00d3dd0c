package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gwebsocket "github.com/gorilla/websocket"
	auth "k8s.io/api/authorization/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
	"sigs.k8s.io/yaml"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/ensembles/agent/serve"
	"locklab/ensembles/reach"
)

// A standIn answers the calls that a lab makes to an API server. Its pods are agents of this process. It refuses fields
// that the API does not have.
type standIn struct {
	t   *testing.T
	ctx context.Context // of the agents

	mu        sync.Mutex
	forbidden string // "verb resource" that the user may not do
	refused   string // why no pod is made
	websocket bool   // it understands WebSocket, as API servers do since version 1.30
	jobs      map[string]*batch.Job
	secrets   map[string]*core.Secret
	pods      map[string]*core.Pod
	agents    map[string]net.Addr // by pod
	ended     sync.WaitGroup
	calls     []string
}

// newStandIn starts a stand-in that KUBECONFIG names.
func newStandIn(t *testing.T) *standIn {
	ctx, cancel := context.WithCancel(context.Background())
	s := &standIn{t: t, ctx: ctx, jobs: map[string]*batch.Job{}, secrets: map[string]*core.Secret{},
		pods: map[string]*core.Pod{}, agents: map[string]net.Addr{}}
	server := httptest.NewServer(s)
	t.Cleanup(func() {
		cancel()
		s.ended.Wait()
		server.CloseClientConnections()
		server.Close()
	})
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{apiVersion: v1, kind: Config, clusters: [{name: a, cluster: {server: %q}}], current-context: a,
contexts: [{name: a, context: {cluster: a, user: a}}], users: [{name: a, user: {token: b}}]}`, server.URL)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", file)
	return s
}

// ServeHTTP implements http.Handler.
func (s *standIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/api/v1/namespaces/locklab/")
	path = strings.TrimPrefix(path, "/apis/batch/v1/namespaces/locklab/")
	path = strings.TrimPrefix(path, "/apis/authorization.k8s.io/v1/")
	call := r.Method + " " + path
	s.mu.Lock()
	s.calls = append(s.calls, call)
	s.mu.Unlock()
	switch call {
	case "POST selfsubjectaccessreviews":
		var review auth.SelfSubjectAccessReview
		s.read(r, &review)
		a := review.Spec.ResourceAttributes
		review.Status.Allowed = a.Namespace == "locklab" && a.Verb+" "+a.Resource != s.forbidden
		s.answer(w, &review)
	case "POST pods":
		if r.FormValue("dryRun") != "All" {
			s.t.Error("a pod was created")
		}
		var pod core.Pod
		s.read(r, &pod)
		s.answer(w, &pod)
	case "POST jobs":
		var job batch.Job
		s.read(r, &job)
		job.UID = types.UID("uid of " + job.Name)
		s.mu.Lock()
		s.jobs[job.Name] = &job
		s.mu.Unlock()
		s.answer(w, &job)
	case "POST secrets":
		var secret core.Secret
		s.read(r, &secret)
		s.startPod(&secret)
		s.answer(w, &secret)
	case "GET pods":
		s.listPods(w, r)
	case "GET events":
		l := core.EventList{}
		if s.refused != "" {
			l.Items = []core.Event{{Message: s.refused}}
		}
		s.answer(w, &l)
	case "DELETE jobs":
		s.mu.Lock()
		clear(s.jobs)
		clear(s.pods)
		s.mu.Unlock()
		s.answer(w, &meta.Status{Status: meta.StatusSuccess})
	default:
		if name, is := strings.CutPrefix(call, "PATCH jobs/"); is {
			s.patch(w, r, name)
		} else if pod, is := strings.CutSuffix(path, "/portforward"); is {
			s.forward(w, r, strings.TrimPrefix(pod, "pods/"))
		} else {
			s.t.Errorf("unexpected call: %s", call)
			http.NotFound(w, r)
		}
	}
}

// read decodes a request as a strict API server does.
func (s *standIn) read(r *http.Request, into any) {
	b, err := io.ReadAll(r.Body)
	if err == nil {
		err = yaml.UnmarshalStrict(b, into)
	}
	if err != nil {
		s.t.Errorf("%s %s: %v", r.Method, r.URL, err)
	}
}

func (s *standIn) answer(w http.ResponseWriter, object any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(object); err != nil {
		s.t.Error(err)
	}
}

// startPod runs the agent of a Job whose Secret has come, unless pods are refused.
func (s *standIn) startPod(secret *core.Secret) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.secrets[secret.Name] = secret
	job := s.jobs[secret.OwnerReferences[0].Name]
	if job == nil || job.UID != secret.OwnerReferences[0].UID {
		s.t.Errorf("secret %s has no owner", secret.Name)
		return
	}
	if s.refused != "" {
		return
	}
	name := job.Name + "-x"
	listening := make(chan net.Addr, 1)
	lease, err := time.ParseDuration(secret.StringData[agent.EnvLease])
	if err != nil {
		s.t.Error(err)
	}
	s.ended.Go(func() {
		_ = serve.Run(s.ctx, serve.Config{Host: secret.StringData[agent.EnvHost], Secret: secret.StringData[agent.EnvSecret],
			Lease: lease, Root: s.t.TempDir(), Listen: "127.0.0.1:0",
			Listening: func(a net.Addr) { listening <- a }, Log: slog.New(slog.DiscardHandler)})
	})
	s.agents[name] = <-listening
	s.pods[name] = &core.Pod{ObjectMeta: meta.ObjectMeta{Name: name, Labels: job.Spec.Template.Labels},
		Status: core.PodStatus{Phase: core.PodRunning, PodIP: "10.1.1.1"}}
}

// listPods answers lists and watches. A watch ends at once, so that the lab has to list again.
func (s *standIn) listPods(w http.ResponseWriter, r *http.Request) {
	if r.FormValue("watch") != "" {
		w.Header().Set("Content-Type", "application/json")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l := core.PodList{ListMeta: meta.ListMeta{ResourceVersion: "1"}}
	for _, p := range s.pods {
		l.Items = append(l.Items, *p)
	}
	s.answer(w, &l)
}

func (s *standIn) patch(w http.ResponseWriter, r *http.Request, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.read(r, s.jobs[name])
	s.answer(w, s.jobs[name])
}

// upgrade answers with a connection of streams: over WebSocket if that is asked for and understood, or else SPDY alone.
func (s *standIn) upgrade(
	w http.ResponseWriter, r *http.Request, take httpstream.NewStreamHandler) httpstream.Connection {
	const protocol = "portforward.k8s.io"
	if gwebsocket.IsWebSocketUpgrade(r) && s.websocket {
		up := gwebsocket.Upgrader{Subprotocols: []string{"SPDY/3.1+" + protocol}}
		over, err := up.Upgrade(w, r, nil)
		if err != nil {
			return nil // it has answered
		}
		conn, err := spdy.NewServerConnection(portforward.NewTunnelingConnection("stand-in", over), take)
		if err != nil {
			s.t.Error(err)
		}
		return conn
	}
	if _, err := httpstream.Handshake(r, w, []string{protocol}); err != nil {
		return nil // it has answered
	}
	return spdy.NewResponseUpgrader().UpgradeResponse(w, r, take)
}

// forward passes a connection on to a pod's agent.
func (s *standIn) forward(w http.ResponseWriter, r *http.Request, pod string) {
	streams := make(chan httpstream.Stream, 2)
	conn := s.upgrade(w, r, func(stream httpstream.Stream, _ <-chan struct{}) error { streams <- stream; return nil })
	if conn == nil {
		return
	}
	defer conn.Close()
	for range 2 {
		var stream httpstream.Stream
		select {
		case stream = <-streams:
		case <-conn.CloseChan():
			return
		case <-s.ctx.Done():
			return
		}
		if stream.Headers().Get(core.StreamType) != core.StreamTypeData {
			continue
		}
		if port := stream.Headers().Get(core.PortHeader); port != fmt.Sprint(agent.Port) {
			s.t.Errorf("a connection to port %s", port)
		}
		s.mu.Lock()
		address := s.agents[pod]
		s.mu.Unlock()
		out, err := net.Dial("tcp", address.String())
		if err != nil {
			return
		}
		defer out.Close()
		go func() { _, _ = io.Copy(out, stream); out.Close() }()
		go func() { _, _ = io.Copy(stream, out); conn.Close() }()
	}
	select {
	case <-conn.CloseChan():
	case <-s.ctx.Done():
	}
}

// config is of a lab whose binary nobody runs.
func config(t *testing.T, hosts ...ensembles.HostSpec) ensembles.LabConfig {
	t.Helper()
	// Any program of Linux will do that needs no other file. The image is given, so it is not read for its hash either.
	binary := filepath.Join(t.TempDir(), "locklab")
	elf := make([]byte, 64)
	copy(elf, "\x7fELF\x02\x01\x01")
	elf[16], elf[18], elf[20], elf[52], elf[54], elf[58] = 2, 62, 1, 64, 56, 64
	if err := os.WriteFile(binary, elf, 0o755); err != nil {
		t.Fatal(err)
	}
	return ensembles.LabConfig{Hosts: hosts, Binary: binary,
		Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))}
}

// A lab is made, used and removed through the calls that the rules allow, with SPDY where WebSocket is refused.
func TestALabOverAStandIn(t *testing.T) {
	unset(t, nil)
	s := newStandIn(t)
	given := filepath.Join(t.TempDir(), "given")
	if err := os.WriteFile(given, []byte("content"), 0o644); err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(t.TempDir(), "below", "target")
	lab, err := ensembles.StartLab(t.Context(), Kind{}, config(t, ensembles.HostSpec{Name: "zk1"},
		ensembles.HostSpec{Name: "c1", Role: ensembles.Client,
			Files: []ensembles.File{{Source: given, Target: target, Executable: true}}}))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(target); string(got) != "content" || err != nil {
		t.Errorf("the file on the host: %q, %v", got, err)
	}
	if st, err := os.Stat(target); err == nil && st.Mode()&0o111 == 0 {
		t.Error("the file cannot be executed")
	}
	if _, err := lab.Host("zk1").Agent.Status(t.Context()); err != nil {
		t.Error(err)
	}
	if got := lab.Host("zk1").Server.String(); got != "10.1.1.1:2181" {
		t.Errorf("others reach the server at %s", got)
	}
	for name, j := range s.jobs {
		if got := time.Duration(*j.Spec.ActiveDeadlineSeconds) * time.Second; got != longestRun {
			t.Errorf("the deadline of %s is %v", name, got)
		}
		for _, c := range j.Spec.Template.Spec.Containers {
			if len(c.Env) > 0 {
				t.Errorf("%s has %v in the open", name, c.Env)
			}
		}
	}
	if err := lab.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if len(s.jobs) > 0 {
		t.Error("jobs are left")
	}
	if !slices.Contains(s.calls, "POST pods/locklab-"+lab.ID+"-zk1-x/portforward") {
		t.Errorf("no connection was made with SPDY: %v", s.calls)
	}
}

// In a lab without servers of its own, each agent of the role server learns which server it speaks for, and the others
// how to reach the ensemble. Nothing of that is in the open.
func TestAnEnsembleElsewhere(t *testing.T) {
	unset(t, nil)
	s := newStandIn(t)
	kind := Kind{Elsewhere: &ensembles.Elsewhere{Path: "/locks/locklab-1",
		Ensemble: &reach.Ensemble{Servers: []string{"a.example:2181", "b.example:2181"}, Credential: "me:secret"}}}
	hosts := []ensembles.HostSpec{{Name: "c1", Role: ensembles.Client}, {Name: "zk1"}, {Name: "zk2"}}
	lab, err := ensembles.StartLab(t.Context(), kind, config(t, hosts...))
	if err != nil {
		t.Fatal(err)
	}
	defer lab.Close(t.Context())
	for host, server := range map[string]string{"c1": "", "zk1": "a.example:2181", "zk2": "b.example:2181"} {
		var e agent.Elsewhere
		name := objectName(lab.ID, host)
		if err := json.Unmarshal([]byte(s.secrets[name].StringData[agent.EnvElsewhere]), &e); err != nil {
			t.Fatal(err)
		}
		if e.Server != server || e.Path != "/locks/locklab-1" || e.Ensemble.Credential != "me:secret" {
			t.Errorf("%s: %+v", host, e)
		}
		pod := s.jobs[name].Spec.Template.Spec
		if image := pod.Containers[0].Image; !strings.HasPrefix(image, defaultImage+":") || pod.InitContainers != nil {
			t.Errorf("%s runs image %s", host, image)
		}
		if pod.DNSPolicy != core.DNSClusterFirst || pod.DNSConfig != nil {
			t.Errorf("%s has no name service: %s, %v", host, pod.DNSPolicy, pod.DNSConfig)
		}
		if b, err := json.Marshal(s.jobs[name]); err != nil || strings.Contains(string(b), "me:secret") {
			t.Errorf("%s has the credential in the open: %v", host, err)
		}
	}
	one := &ensembles.Elsewhere{Ensemble: &reach.Ensemble{Servers: []string{"a.example:2181"}}}
	if _, err := ensembles.StartLab(t.Context(), Kind{Elsewhere: one}, config(t, hosts...)); err == nil ||
		!strings.Contains(err.Error(), "the lab has 2 servers, and the ensemble 1") {
		t.Error(err)
	}
}

// Connections that are made at the same time are not taken for each other.
func TestConnectionsAtTheSameTime(t *testing.T) {
	unset(t, nil)
	newStandIn(t).websocket = true
	lab, err := ensembles.StartLab(t.Context(), Kind{}, config(t, ensembles.HostSpec{Name: "zk1"}))
	if err != nil {
		t.Fatal(err)
	}
	defer lab.Close(t.Context())
	var all sync.WaitGroup
	for range 64 { // each makes a connection, since the others are in use
		all.Go(func() {
			once, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			if _, err := lab.Host("zk1").Agent.Capabilities(once); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// What the cluster refuses is said before anything is made, or as soon as it shows.
func TestALabThatIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(*standIn)
		want    []string
		nothing bool
	}{
		"a right is missing": {func(s *standIn) { s.forbidden = "create jobs" },
			[]string{"may not do this in namespace locklab: create jobs;", "locklab manifests print"}, true},
		"pods are refused": {func(s *standIn) { s.refused = `violates PodSecurity "baseline:latest"` },
			[]string{"start host zk1", "its pod is refused: violates PodSecurity", "level privileged"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			unset(t, nil)
			s := newStandIn(t)
			c.prepare(s)
			_, err := ensembles.StartLab(t.Context(), Kind{}, config(t, ensembles.HostSpec{Name: "zk1"}))
			for _, want := range c.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("the error does not contain %q: %v", want, err)
				}
			}
			if len(s.jobs) > 0 || c.nothing && slices.Contains(s.calls, "POST jobs") {
				t.Error("jobs were made")
			}
		})
	}
}

func TestNoCluster(t *testing.T) {
	unset(t, nil)
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	_, err := ensembles.StartLab(t.Context(), Kind{}, config(t, ensembles.HostSpec{Name: "zk1"}))
	if !errors.Is(err, ErrUnavailable) {
		t.Error(err)
	}
	if err := (Kind{}).Clean(t.Context(), slog.Default()); err != nil {
		t.Errorf("clean where no cluster is configured: %v", err)
	}
}
