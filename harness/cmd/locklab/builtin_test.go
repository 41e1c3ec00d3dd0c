package main

import (
	"os"
	"testing"

	"locklab/harness/scenario"
	"locklab/workloads"
)

// Every built-in scenario is accepted, thresholds included, and is printed as a file that means the same.
func TestBuiltinsAreAccepted(t *testing.T) {
	names, err := scenario.Names(workloads.Builtin)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	printed := func(of string) string {
		code, stdout, stderr := runCLI(t, "run", "--print-config", "--seed", "1", of)
		if code != exitOK || stderr != "" {
			t.Fatalf("%s: exit code %d: %s", of, code, stderr)
		}
		return stdout
	}
	resolved := func(name, src string) string {
		s, err := scenario.Load(name, []byte(src))
		if err != nil {
			t.Fatal(err)
		}
		return string(s.Marshal())
	}
	for _, name := range names {
		once := printed(name)
		if err := os.WriteFile("again.yaml", []byte(once), 0o644); err != nil {
			t.Fatal(err)
		}
		if a, b := resolved("a.yaml", once), resolved("b.yaml", printed("again.yaml")); a != b {
			t.Errorf("%s:\n%s\nand then\n%s", name, a, b)
		}
	}
	if found, err := os.ReadDir("runs"); err == nil {
		t.Errorf("something was started: %v", found)
	}
}
