package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func sample(perSecond float64, handOff int64) Sample {
	s := Sample{Figures: Figures{PerSecond: perSecond}, Requests: perSecond / 100}
	if handOff > 0 {
		s.HandOffP50 = &handOff
	}
	return s
}

// Each figure is the median of its rounds, ratios are relative to Curator, and the file agrees with the table.
func TestComparison(t *testing.T) {
	peers := Peers[Mutex]
	c := Comparison{Schema: 1, Lock: Mutex, Locks: 1, ZooKeeper: "3.8.0", Servers: servers, Rounds: 3}
	for i, peer := range peers {
		base := float64(100 * (len(peers) - i))
		c.Cells = append(c.Cells, Result{Peer: peer, Clients: 64,
			Rounds: []Sample{sample(base+30, 3000), sample(base, 1000), sample(base+10, 2000)}})
	}
	c.Cells[slices.Index(peers, ZKLock)].Rounds[2].HandOffP50 = nil
	c.summarize()
	ours, zk, curators := c.Cells[0], c.Cells[1], c.Cells[len(peers)-1]
	if ours.PerSecond != 410 || ours.Slowest != 400 || ours.Fastest != 430 || ours.Requests != 4.1 ||
		*ours.HandOffP50 != 2000 {
		t.Errorf("ours %+v", ours)
	}
	if zk.HandOffP50 != nil {
		t.Error("there is a median although one round has no hand-off time")
	}
	if *ours.Ratio != 410.0/110 || *curators.Ratio != 1 {
		t.Errorf("ratios %v, %v", *ours.Ratio, *curators.Ratio)
	}
	var table bytes.Buffer
	if err := c.Print(&table); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"recipes.Mutex", "410", "400…430", "3.73×", "InterProcessMutex 5.7.1", "n/a",
		"; medians of 3 rounds"} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("no %q in\n%s", want, table.String())
		}
	}
	name := filepath.Join(t.TempDir(), "runs", "bench-json")
	if err := c.Write(name); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var back Comparison
	if err := json.Unmarshal(b, &back); err != nil || len(back.Cells) != len(peers) ||
		len(back.Cells[0].Rounds) != 3 || back.Cells[0].PerSecond != 410 {
		t.Errorf("read back %+v, %v", back, err)
	}
}

// Every round has every peer, and successive rounds begin with different peers.
func TestInTurn(t *testing.T) {
	for round, want := range [][]int{{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {0, 1, 2}} {
		if got := inTurn(round, 3); !slices.Equal(got, want) {
			t.Errorf("round %d has %v, want %v", round, got, want)
		}
	}
}
