package run

import (
	"errors"
	"strings"
	"testing"

	"locklab/chaos"
	"locklab/ensembles/agent"
	"locklab/ensembles/labtest"
	"locklab/ensembles/labtest/suite"
	"locklab/harness/scenario"
	"locklab/workloads/control"
)

// A fault that needs what the machine is known to lack is refused before a lab is made.
func TestLackingIsRefusedBeforehand(t *testing.T) {
	kind := chaos.Kind{}
	for _, k := range chaos.Kinds() {
		if k.Capability != "" {
			kind = k
		}
	}
	if kind.Name == "" {
		t.Skip("every lab can do every kind of fault")
	}
	sc := scenario.Defaults()
	sc.Faults = []chaos.Fault{{Kind: kind.Name, Target: "zk1", For: chaos.Lasting(1e9)}}
	_, err := OpenStage(t.Context(), sc, Options{Lacking: map[string]string{kind.Capability: "apt-get install it"}})
	if !errors.Is(err, chaos.ErrUnsupported) || !strings.Contains(err.Error(), kind.Capability) ||
		!strings.Contains(err.Error(), "apt-get install it") {
		t.Errorf("%v", err)
	}
	if err := unsupported(sc, map[string]string{"something else": "whatever"}); err != nil {
		t.Error(err)
	}
}

// The faults and the clients have the same names for what a client does to itself.
func TestStrikesHaveOneName(t *testing.T) {
	for ours, theirs := range map[string]string{
		chaos.StrikeStop: control.StrikeStop, chaos.StrikeExpire: control.StrikeExpire, chaos.StrikeMove: control.StrikeMove,
	} {
		if ours != theirs {
			t.Errorf("%q and %q", ours, theirs)
		}
	}
}

// Without netem, only packets between servers cannot be delayed, because those of clients go through relays.
func TestLatencyBetweenServersNeedsNetem(t *testing.T) {
	for src, lacks := range map[string]bool{
		"target: zk1, from: servers":    true,
		"target: zk1, from: leader":     true,
		"target: leader, from: servers": true,
		"target: leader, from: clients": false,
		"target: c1, from: servers":     false,
		"target: holder, from: leader":  false,
	} {
		sc := load(
			t,
			"clients: 2\nclient-processes: 2\nfaults:\n- {kind: latency, latency: 100ms, at: 1s, for: 1s, "+src+"}\n",
		)
		err := unsupported(sc, map[string]string{agent.CapNetem: "no module sch_netem"})
		if (err != nil) != lacks {
			t.Errorf("%s: %v", src, err)
		}
		if lacks &&
			(!errors.Is(err, chaos.ErrUnsupported) || !strings.Contains(err.Error(), "test.yaml:4:") ||
				!strings.Contains(err.Error(), "netem")) {
			t.Errorf("%s: %v", src, err)
		}
		if err := unsupported(sc, nil); err != nil {
			t.Errorf("%s on a machine that can: %v", src, err)
		}
	}
}

// A fault that needs what the lab turns out to lack is refused before anything is injected.
func testLacksNetem(t *testing.T, small *Stage) {
	suite.Nightly(t, "starts another lab to see it refused; TestLatencyBetweenServersNeedsNetem needs none")
	lacks, err := small.lab.Host("zk1").Agent.Capabilities(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sc := load(
		t,
		with("duration: 3s", "faults:\n- {kind: latency, target: zk1, from: servers, latency: 100ms, at: 100ms, for: 1s}"),
	)
	stage, err := OpenStage(t.Context(), sc, Options{Binary: labtest.Binary(t), Log: labtest.Log(t)})
	if lacks[agent.CapNetem] == "" {
		if err != nil {
			t.Fatal(err)
		}
		if err := stage.Close(); err != nil {
			t.Error(err)
		}
		t.Skip("this kernel has netem")
	}
	if !errors.Is(err, chaos.ErrUnsupported) || !strings.Contains(err.Error(), agent.CapNetem) {
		t.Fatalf("%v", err)
	}
}
