package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"locklab/harness/scenario"
	"locklab/recipes/broken"
	"locklab/workloads"
)

var update = flag.Bool("update", false, "rewrite what the README has from the program itself")

const (
	readme        = "../../../README.md"
	tableBegin    = "<!-- built-in scenarios: made by go test ./harness/cmd/locklab -run Readme -update -->\n"
	faultsBegin   = "<!-- faults: made by go test ./harness/cmd/locklab -run Readme -update -->\n"
	controlsBegin = "<!-- controls: made by go test ./harness/cmd/locklab -run Readme -update -->\n"
	commentBegin  = "<!-- a comment: made by go test ./harness/cmd/locklab -run Readme -update -->\n"
	tableEnd      = "<!-- end -->\n"
)

// The README's example of a pull request's comment is what compare prints about a benchmark that was
// recorded, but for what is folded away.
func TestReadmeShowsTheGate(t *testing.T) {
	_, markdown, _ := run(t, "compare", filepath.Join(recordings, "slow/base"), filepath.Join(recordings, "slow/head"), "--format", "markdown")
	comment, _, folded := strings.Cut(markdown, "\n<details>")
	if !folded {
		t.Fatalf("nothing is folded away in %s", markdown)
	}
	var quoted strings.Builder
	for line := range strings.Lines(comment) {
		quoted.WriteString(strings.TrimRight("> "+line, " \n") + "\n")
	}
	inReadme(t, commentBegin, quoted.String())
}

// The README says of every built-in scenario whose question it answers, and which.
func TestReadmeListsTheScenarios(t *testing.T) {
	all, err := scenario.Builtins(workloads.Builtin)
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	want.WriteString("| who asks | scenario | question |\n|---|---|---|\n")
	for _, g := range scenario.ByAnswer(all) {
		who, _, _ := strings.Cut(g.Question, ":")
		for _, s := range g.Scenarios {
			fmt.Fprintf(&want, "| %s | `%s` | %s |\n", who, s.Name, s.About)
			who = ""
		}
	}
	inReadme(t, tableBegin, want.String())
}

// The README says of every kind of fault what is done, and how that is known.
func TestReadmeListsTheFaults(t *testing.T) {
	var want strings.Builder
	want.WriteString("| family | fault | of | what is done | how it is verified |\n|---|---|---|---|---|\n")
	family := ""
	for _, k := range scenario.FaultKinds() {
		name := k.Family
		if name == family {
			name = ""
		}
		family = k.Family
		fmt.Fprintf(&want, "| %s | `%s` | %s | %s | %s |\n", name, k.Name, k.Targets, k.Does, k.Verified)
	}
	inReadme(t, faultsBegin, want.String())
}

// The README says of every control what is wrong with it, and by which check it is to be found.
func TestReadmeListsTheControls(t *testing.T) {
	var want strings.Builder
	want.WriteString("| recipe | its bug | known from | what makes it show | found by | sound |\n|---|---|---|---|---|---|\n")
	for _, r := range scenario.AllRecipes() {
		if r.Control {
			l := broken.Locks[strings.TrimPrefix(r.Name, scenario.RecipeBroken)]
			fmt.Fprintf(&want, "| `%s` | %s | %s | %s | `%s`: %s | `%s` |\n", r.Name, l.Bug, l.Source, l.Trigger, l.Check, l.Finding, l.Sound)
		}
	}
	inReadme(t, controlsBegin, want.String())
}

// inReadme wants the text in the README, between a line and tableEnd; -update puts it there.
func inReadme(t *testing.T, begin, want string) {
	t.Helper()
	b, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(b), begin)
	got, after, ends := strings.Cut(rest, tableEnd)
	if !begins || !ends {
		t.Fatalf("README.md has nothing between %q and %q", begin, tableEnd)
	}
	if *update {
		if err := os.WriteFile(readme, []byte(before+begin+want+tableEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("README.md is not what it should be (-want +got); -update writes it anew:\n%s", diff)
	}
}
