package kubernetes

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	rbac "k8s.io/api/rbac/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"locklab/ensembles"
	"locklab/harness/fail"
)

var update = flag.Bool("update", false, "write the manifests to testdata again")

// hosts are one of each kind.
var hosts = []ensembles.HostSpec{{Name: "zk1", Disk: true, Publish: true}, {Name: "zk2"},
	{Name: "c1", Role: ensembles.Client}, {Name: "r1", Role: ensembles.Resource},
	{Name: "c2", Role: ensembles.Client, Image: "python:3"}, {Name: "harness", Role: ensembles.Harness, Disk: true}}

// unset makes the test independent of the environment, except for what it is given.
func unset(t *testing.T, env map[string]string) {
	for _, name := range append([]string{ensembles.EnvImage}, Variables...) {
		t.Setenv(name, env[name])
	}
}

func TestManifests(t *testing.T) {
	unset(t, map[string]string{EnvImage: "registry.example:5000/locklab", EnvNodeSelector: "pool=benchmark",
		EnvSpread: "zone", EnvStorageClass: "fast", EnvResources: "cpu=500m,memory=1Gi", EnvNamespace: "tests"})
	var b bytes.Buffer
	if err := WriteAccess(&b); err != nil {
		t.Fatal(err)
	}
	if err := WriteHosts(&b, hosts...); err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/manifests.yaml"
	if *update {
		if err := os.WriteFile(golden, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if diff := cmp.Diff(string(want), b.String()); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	// The API server refuses fields that it does not know.
	types := map[string]func() any{"Namespace": func() any { return &core.Namespace{} },
		"ServiceAccount": func() any { return &core.ServiceAccount{} }, "Role": func() any { return &rbac.Role{} },
		"RoleBinding": func() any { return &rbac.RoleBinding{} }, "Job": func() any { return &batch.Job{} },
		"Secret": func() any { return &core.Secret{} }}
	for _, doc := range strings.Split(b.String(), "---\n")[1:] {
		var kind meta.TypeMeta
		if err := yaml.Unmarshal([]byte(doc), &kind); err != nil {
			t.Fatal(err)
		}
		if err := yaml.UnmarshalStrict([]byte(doc), types[kind.Kind]()); err != nil {
			t.Errorf("%v in\n%s", err, doc)
		}
	}
}

func TestSettingsAreRefused(t *testing.T) {
	for name, c := range map[string]struct{ value, want string }{
		EnvNamespace:    {"My_Space", "not the name of a namespace"},
		EnvNodeSelector: {"pool", `"pool" is not key=value; write it like kubernetes.io/arch=amd64`},
		EnvSpread:       {"rack", `cannot be spread over "rack"; use node, zone or none`},
		EnvResources:    {"cpu=much", `"much" is not an amount of cpu; write it like cpu=500m,memory=1Gi`},
	} {
		unset(t, map[string]string{name: c.value})
		_, err := readSettings()
		if err == nil || !strings.HasPrefix(err.Error(), name+": ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s=%s: %v", name, c.value, err)
		}
	}
}

func TestVersions(t *testing.T) {
	s := settings{image: "locklab:1", zookeeper: "zookeeper:3.9"}
	if got := s.imageOf(ensembles.HostSpec{Versions: []string{"zookeeper:3.8"}}); got != "zookeeper:3.8" {
		t.Errorf("a server of another version has the image %s", got)
	}
	for _, versions := range [][]string{{"/opt/zookeeper"}, {ensembles.DefaultVersion, "zookeeper:3.8"}} {
		err := checkVersions([]ensembles.HostSpec{{Name: "zk1", Versions: versions}})
		if _, is := errors.AsType[*ensembles.VersionError](err); !is {
			t.Errorf("%v: %v", versions, err)
		}
	}
}

func TestWithTag(t *testing.T) {
	for image, want := range map[string]string{
		"locklab/host": "locklab/host:x", "locklab/host:1": "locklab/host:1", "localhost:5000/a": "localhost:5000/a:x",
		"localhost:5000/a:1": "localhost:5000/a:1", "a@sha256:00": "a@sha256:00",
	} {
		if got := withTag(image, "x"); got != want {
			t.Errorf("%s: %s", image, got)
		}
	}
}

func TestWhatAPodWaitsFor(t *testing.T) {
	waits := func(reason, message string) core.PodStatus {
		return core.PodStatus{Phase: core.PodPending, ContainerStatuses: []core.ContainerStatus{{Name: "host", Image: "a:1",
			State: core.ContainerState{Waiting: &core.ContainerStateWaiting{Reason: reason, Message: message}}}}}
	}
	for name, c := range map[string]struct {
		status core.PodStatus
		want   string
	}{
		"it runs":         {core.PodStatus{Phase: core.PodRunning, PodIP: "10.0.0.1"}, "<nil>"},
		"a missing image": {waits("ErrImagePull", "not found"), "the host cannot start: image a:1: ErrImagePull: not found"},
		"its Secret": {waits("CreateContainerConfigError", "no secret"),
			"container host of pod p waits: CreateContainerConfigError no secret"},
		"a node": {core.PodStatus{Phase: core.PodPending, Conditions: []core.PodCondition{
			{Type: core.PodScheduled, Status: core.ConditionFalse, Message: "0/2 nodes"}}},
			"no node takes pod p: 0/2 nodes"},
		"nothing: it died": {core.PodStatus{Phase: core.PodFailed, Reason: "Evicted", Message: "full"},
			"the host cannot start: pod p ended: Evicted full"},
	} {
		_, err := progress(&core.Pod{ObjectMeta: meta.ObjectMeta{Name: "p"}, Status: c.status})
		got := "<nil>"
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %s; want %s", name, got, c.want)
		}
		if hopeless := strings.HasPrefix(got, "the host cannot start"); errors.Is(err, fail.Environment) != hopeless {
			t.Errorf("%s: of the environment: %t", name, !hopeless)
		}
	}
}

// Only in the cluster itself are pods reached at their own addresses.
func TestInside(t *testing.T) {
	for host, want := range map[string]bool{"": false, "10.96.0.1": true, "10.96.0.2": false} {
		t.Setenv("KUBERNETES_SERVICE_HOST", host)
		t.Setenv("KUBERNETES_SERVICE_PORT", "443")
		c := cluster{config: &rest.Config{Host: "https://10.96.0.1:443"}}
		if c.inside() != want {
			t.Errorf("KUBERNETES_SERVICE_HOST=%s: %v", host, !want)
		}
	}
}

func TestEnvironOfAnotherHarness(t *testing.T) {
	unset(t, map[string]string{EnvContext: "mine", EnvNamespace: "tests", ensembles.EnvImage: "zookeeper:3.8"})
	want := []string{EnvNamespace + "=tests", ensembles.EnvImage + "=zookeeper:3.8"}
	if got := Environ(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
