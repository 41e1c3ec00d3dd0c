package scenario

import (
	"slices"
	"strings"
	"testing"
)

// Vary overrides one key of a copy, and Differences names it.
func TestVary(t *testing.T) {
	base, err := Load("a.yaml", []byte("duration: 5s\nclients: 4"))
	if err != nil {
		t.Fatal(err)
	}
	if err := base.Set("clients", "8"); err != nil {
		t.Fatal(err)
	}
	head, err := base.Vary("--vs clients", "clients", "16")
	if err != nil || head.Clients != 16 || base.Clients != 8 {
		t.Errorf("%d against %d clients, %v", head.Clients, base.Clients, err)
	}
	if d := base.Differences(head); !slices.Equal(d, []string{"clients"}) {
		t.Errorf("they differ in %v", d)
	}
	// If two keys exclude each other, the varied one stays, even against a flag.
	if err := base.Set("duration", "3s"); err != nil {
		t.Fatal(err)
	}
	head, err = base.Vary("--vs iterations", "iterations", "100")
	if err != nil || head.Iterations != 100 || head.Duration != 0 || head.Validate() != nil {
		t.Errorf("iterations %d, duration %v, %v, %v", head.Iterations, head.Duration, err, head.Validate())
	}
	// Names and seeds do not count as differences.
	other := base.Clone()
	other.Name, other.Seed = "other", 7
	if d := base.Differences(other); len(d) != 0 {
		t.Errorf("they differ in %v", d)
	}
	for _, c := range [][3]string{
		{"clients", "0", "--vs clients: clients of 0 is out of range (from 1 to 100000)"},
		{"name", "x", "--vs name: no such key"},
	} {
		if _, err := base.Vary("--vs "+c[0], c[0], c[1]); err == nil || !strings.HasPrefix(err.Error(), c[2]) {
			t.Errorf("%s=%s: %v", c[0], c[1], err)
		}
	}
	// A contradiction with other keys names the flag too.
	head, err = base.Vary("--vs recipe", "recipe", "semaphore")
	if err != nil {
		t.Fatal(err)
	}
	if err := head.Validate(); err == nil || err.Error()[:12] != "--vs recipe:" {
		t.Errorf("a recipe of another workload: %v", err)
	}
}
