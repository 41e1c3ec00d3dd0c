package ensembles_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"locklab/ensembles"
	"locklab/ensembles/kubernetes"
	"locklab/ensembles/labs"
	"locklab/ensembles/labtest"
)

// A version that a lab cannot run is refused before anything is made.
func TestVersionsThatAreRefused(t *testing.T) {
	labtest.Require(t)
	empty, file := t.TempDir(), filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	const absent = "locklab/zookeeper-test:absent"
	for _, kind := range labs.Kinds() {
		if kind.Name() == (kubernetes.Kind{}).Name() {
			continue // pods refuse all but images; the package has a test of its own
		}
		const none = "there are no ZooKeeper jars"
		for version, want := range map[string]string{empty: none, file: none, empty + "/none": "no such file",
			absent: absent} {
			lab, err := ensembles.StartLab(t.Context(), kind, ensembles.LabConfig{Binary: labtest.Binary(t), Log: labtest.Log(t),
				Hosts: []ensembles.HostSpec{{Name: "zk1", Versions: []string{ensembles.DefaultVersion, version}}}})
			if err == nil {
				t.Errorf("%s has %s", kind.Name(), version)
				_ = lab.Close(t.Context())
				continue
			}
			e, ok := errors.AsType[*ensembles.VersionError](err)
			if !ok && labs.Unavailable(err) {
				continue // there are no labs of the kind here
			}
			if !ok || e.Version != version || !strings.Contains(e.Msg, want) || e.Hint == "" ||
				e.Absent != (version == absent && kind.Name() == "docker") {
				t.Errorf("%s, %s: %v", kind.Name(), version, err)
			}
		}
	}
}

func TestNamesOfVersions(t *testing.T) {
	for text, valid := range map[string]bool{"default": true, "zookeeper:3.9": true, "my.registry:5000/zk@sha256:ab": true,
		"/opt/zk 3.9": true, "./zk": true, "../zk": true, "": false, "~/zk": false, "a b": false, "/a,b": false,
		"-x": false, "3.9": false, "3.9.3": true, "3.9.99": false, "v3.8": false, "4": false, "zk4": true} {
		if err := ensembles.CheckVersion(text); (err == nil) != valid {
			t.Errorf("%q: %v", text, err)
		}
	}
}
