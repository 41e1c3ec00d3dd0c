package docker_test

import (
	"encoding/json"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/ensembles"
	"locklab/ensembles/docker"
	"locklab/ensembles/labtest"
)

func TestMain(m *testing.M) {
	labtest.AbandonIfTold(docker.Kind{}, ensembles.HostSpec{Name: "zk1", Disk: true},
		ensembles.HostSpec{Name: "c1", Role: ensembles.Client})
	os.Exit(m.Run())
}

// real marks a test that needs a Docker engine.
func real(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts containers")
	}
	labtest.Require(t)
}

func openEngine(t *testing.T) *docker.TestEngine {
	t.Helper()
	real(t)
	e, err := docker.OpenTestEngine(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// call sends a request to the engine and requires that it succeeds.
func call(t *testing.T, e *docker.TestEngine, method, path, body string, into any) {
	t.Helper()
	if err := e.Call(t.Context(), method, path, strings.NewReader(body), into); err != nil {
		t.Fatal(err)
	}
}

// exists reports whether an object exists in the engine.
func exists(t *testing.T, e *docker.TestEngine, path string) bool {
	t.Helper()
	var any any
	err := e.Call(t.Context(), "GET", path, nil, &any)
	if err != nil && !strings.Contains(err.Error(), "404") {
		t.Fatal(err)
	}
	return err == nil
}

// labelled lists a lab's containers and networks, or those of all labs if the id is empty.
func labelled(t *testing.T, e *docker.TestEngine, lab string) []string {
	t.Helper()
	label := docker.LabelLab
	if lab != "" {
		label += "=" + lab
	}
	filters, err := json.Marshal(map[string][]string{"label": {label}})
	if err != nil {
		t.Fatal(err)
	}
	query := "?all=1&filters=" + url.QueryEscape(string(filters))
	var containers, networks []struct {
		Id, Name string
		Names    []string
	}
	call(t, e, "GET", "/containers/json"+query, "", &containers)
	call(t, e, "GET", "/networks"+query, "", &networks)
	var all []string
	for _, c := range containers {
		all = append(all, "/containers/"+c.Id)
	}
	for _, n := range networks {
		all = append(all, "/networks/"+n.Id)
	}
	return all
}

// An inspection is what the engine reports about a container.
type inspection struct {
	Created time.Time
	State   struct{ StartedAt time.Time }
	Config  struct{ User string }
	Mounts  []struct{ Type, Name, Source, Destination string }

	HostConfig struct {
		Privileged, PublishAllPorts, AutoRemove   bool
		CapAdd, CapDrop, Binds, VolumesFrom       []string
		Devices, DeviceRequests                   []any
		PidMode, IpcMode, UTSMode, UsernsMode     string
		NetworkMode, CgroupnsMode, CgroupParent   string
		SecurityOpt, DeviceCgroupRules, GroupAdds []string
	}
	NetworkSettings struct {
		Ports    map[string][]struct{ HostIp, HostPort string }
		Networks map[string]struct{ IPAddress, GlobalIPv6Address string }
	}
}

func inspect(t *testing.T, e *docker.TestEngine, lab *ensembles.Lab, host string) inspection {
	t.Helper()
	var i inspection
	call(t, e, "GET", "/containers/locklab-"+lab.ID+"-"+host+"/json", "", &i)
	return i
}

// volumes lists the named volumes of a lab's containers.
func volumes(t *testing.T, e *docker.TestEngine, containers []string) []string {
	t.Helper()
	var all []string
	for _, c := range containers {
		if !strings.HasPrefix(c, "/containers/") {
			continue
		}
		var i inspection
		call(t, e, "GET", c+"/json", "", &i)
		for _, m := range i.Mounts {
			if m.Type == "volume" {
				all = append(all, "/volumes/"+m.Name)
			}
		}
	}
	return all
}

// eventually waits for a condition. The limit is long because the machine may be busy.
func eventually(t *testing.T, within time.Duration, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(within); !ok(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("timed out waiting for %s", what)
		}
	}
}

// allGone waits until none of the paths exists in the engine any more.
func allGone(t *testing.T, e *docker.TestEngine, within time.Duration, paths ...string) {
	t.Helper()
	left := slices.Clone(paths)
	end := time.Now().Add(within)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		left = slices.DeleteFunc(left, func(p string) bool {
			if strings.HasPrefix(p, "/containers/") {
				p += "/json"
			}
			return !exists(t, e, p)
		})
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("still present after %v: %v", within, left)
		}
		<-tick.C
	}
}
