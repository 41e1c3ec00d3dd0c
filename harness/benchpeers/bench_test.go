package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"locklab/ensembles/labtest"
	"locklab/ensembles/labtest/curatortest"
	"locklab/ensembles/labtest/suite"
	"locklab/recipes/curator"
)

// TestMain lets the test binary be the process of a peer.
func TestMain(m *testing.M) {
	err := runPeer(context.Background())
	if errors.Is(err, errNoPeer) {
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Every peer is measured on a real ensemble, with one client and with several, and the file has the results.
func TestRun(t *testing.T) {
	suite.Nightly(t, "measures peers for a quarter of a minute each; the tests of recipes/curator run them")
	if testing.Short() {
		t.Skip("needs an ensemble")
	}
	labtest.Require(t)
	for _, version := range curator.Versions {
		curatortest.Require(t, version)
	}
	for lock := range Peers {
		t.Run(lock, func(t *testing.T) { testRun(t, lock) })
	}
}

func testRun(t *testing.T, lock string) {
	clients, peers := []int{1, 4}, Peers[lock]
	var told int
	c, err := Run(t.Context(), Config{Lock: lock, Locks: 1, Clients: clients, Rounds: 1, Measure: 200 * time.Millisecond,
		Binary: labtest.Binary(t), Log: labtest.Log(t), Progress: func(what string) { told++; t.Log(what) }})
	if err != nil {
		t.Fatal(err)
	}
	if want := len(clients) * len(peers); len(c.Cells) != want || told != want || c.ZooKeeper == "" {
		t.Errorf("%d cells and %d of progress, want %d; ZooKeeper %q", len(c.Cells), told, want, c.ZooKeeper)
	}
	var cpu int64
	for i, r := range c.Cells {
		if r.Peer != peers[i%len(peers)] || r.Clients != clients[i/len(peers)] {
			t.Errorf("cell %d is %s with %d clients", i, r.Peer, r.Clients)
		}
		// CPU time is counted in ticks, and so short a measurement may not have one.
		if r.Acquisitions == 0 || r.PerSecond <= 0 || r.Requests <= 0 || r.CPU == nil || *r.CPU < 0 || r.Resident <= 0 {
			t.Errorf("%s with %d clients: %+v", r.Peer, r.Clients, r.Sample)
			continue
		}
		cpu += *r.CPU
		// A watch fires only for a client that waits.
		if r.Clients > 1 && r.Watches <= 0 {
			t.Errorf("%s with %d clients: %v watches per acquisition", r.Peer, r.Clients, r.Watches)
		}
		if r.Ratio == nil || r.Peer == peers[len(peers)-1] && *r.Ratio != 1 {
			t.Errorf("%s with %d clients: %v times Curator's", r.Peer, r.Clients, r.Ratio)
		}
	}
	if cpu == 0 {
		t.Error("nobody took any CPU time")
	}
	name := filepath.Join(t.TempDir(), "bench-json")
	if err := c.Write(name); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var back Comparison
	if err := json.Unmarshal(b, &back); err != nil || !reflect.DeepEqual(back, *c) {
		t.Errorf("read back %+v, %v", back, err)
	}
}
