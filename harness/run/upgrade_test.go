package run

import (
	"errors"
	"os"
	"strings"
	"testing"

	"locklab/chaos"
	"locklab/ensembles"
	"locklab/ensembles/labtest"
	"locklab/ensembles/labtest/suite"
	"locklab/harness/check/evidence"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
)

// The servers of a mixed ensemble are upgraded while clients use a lock. Whatever the servers logged with either
// version, the lock kept its promises.
func TestUpgrade(t *testing.T) {
	suite.Nightly(t, "restarts the servers of two images; the tests of package chaos upgrade none that is real")
	t.Parallel()
	if testing.Short() {
		t.Skip("needs an ensemble")
	}
	labtest.Require(t)
	other := labtest.OtherZooKeeper(t)
	src := `
clients: 4
hold: 5ms
warmup: 500ms
duration: 7s
session-timeout: 4s
storage: tmpfs
zookeeper: default,` + other + `
faults:
- kind: upgrade
  target: all
  to: ` + other + `
  at: 100ms
`
	stage, err := OpenStage(t.Context(), load(t, src), Options{Binary: labtest.Binary(t), Log: labtest.Log(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := stage.Close(); err != nil {
			t.Error(err)
		}
	}()
	out := runOn(t, stage, src)
	if err := stage.Run(t.Context(), load(t, src), t.TempDir()); !errors.Is(err, rundir.ErrNoDir) {
		t.Errorf("the upgraded ensemble has another run: %v", err)
	}
	r := out.Result
	if r.Verdict != evidence.Pass {
		t.Errorf("%s: %s", r.Verdict, r.Headline)
	}
	for _, c := range r.Checks {
		if c.Name == evidence.ServiceExclusion && c.Result != evidence.Pass {
			t.Errorf("%s: %s, %s", c.Name, c.Result, c.Summary)
		}
	}
	if len(r.Faults) != 1 || !r.Faults[0].Verified || !r.Faults[0].HealVerified ||
		!strings.Contains(r.Faults[0].Done, "→ "+labtest.OtherNumber) {
		t.Errorf("faults %+v", r.Faults)
	}
	env, err := rundir.ReadEnv(out.Dir)
	if err != nil {
		t.Fatal(err)
	}
	told := env.ZooKeepers
	if len(told) != 3 || !strings.HasSuffix(env.ZooKeeper, ", "+labtest.OtherNumber) ||
		ensembles.VersionNumber(told["zk2"]) != labtest.OtherNumber || told["zk1"] == told["zk2"] ||
		told["zk1"] != told["zk3"] {
		t.Errorf("env.json has %s: %q", env.ZooKeeper, told)
	}
}

// A version that a lab cannot run is refused with the place where it was given.
func TestBadVersionsNameTheirPlace(t *testing.T) {
	empty := t.TempDir()
	const absent = "locklab/zookeeper-test:absent"
	for src, want := range map[string]string{
		"zookeeper: " + empty:  "test.yaml:1:1: " + empty + ": there are no ZooKeeper jars",
		"zookeeper: " + absent: "test.yaml:1:1: " + absent + " names an image, and a lab of kind process",
		"faults: [{kind: upgrade, target: all, at: 1s, to: " + empty + "}]": "test.yaml:1:47: " + empty + ": there are",
	} {
		sc := load(t, src)
		sc.Lab = "process"
		_, err := OpenStage(t.Context(), sc, Options{Binary: os.Args[0], Log: labtest.Log(t)})
		if _, ok := errors.AsType[*scenario.InputError](err); !ok || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", src, err, want)
		}
	}
}

// An image that only has to be pulled is a lack of the machine, and not a mistake.
func TestAnAbsentImageIsALackOfTheMachine(t *testing.T) {
	labtest.Require(t)
	if labtest.Kind() != "docker" {
		t.Skip("needs images")
	}
	const absent = "locklab/zookeeper-test:absent"
	opts := Options{Binary: labtest.Binary(t), Log: labtest.Log(t)}
	_, err := OpenStage(t.Context(), load(t, "zookeeper: "+absent), opts)
	if !errors.Is(err, chaos.ErrUnsupported) || !strings.Contains(err.Error(), "test.yaml:1:1") ||
		!strings.Contains(err.Error(), "docker pull "+absent) {
		t.Errorf("%v", err)
	}
}
