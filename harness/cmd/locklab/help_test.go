package main

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"locklab/harness/console"
	"locklab/harness/scenario"
)

// The help of each command that has the keys of a scenario fits a screen and a half, and names every flag.
func TestShortHelp(t *testing.T) {
	for _, command := range []string{"run", "sweep", "bench"} {
		code, short, _ := runCLI(t, command, "--help")
		_, whole, _ := runCLI(t, command, "--all", "--help")
		if n := strings.Count(short, "\n"); code != exitOK || n > 78 || strings.Count(whole, "\n") < 2*n {
			t.Errorf("%s --help has %d lines, and with --all %d", command, n, strings.Count(whole, "\n"))
		}
		for _, k := range scenario.Keys() {
			if !strings.Contains(short, "--"+k.Name) {
				t.Errorf("%s --help does not name --%s", command, k.Name)
			}
		}
		for line := range strings.Lines(short) {
			if len([]rune(line)) > helpWidth+1 && !strings.HasPrefix(line, "  --") {
				t.Errorf("%s --help has a line of %d characters: %s", command, len(line), line)
			}
		}
	}
}

// Every text of helptexts.txt is in the help of some flag or argument, and no name is left without a text.
func TestHelpTexts(t *testing.T) {
	parser, err := newParser(console.Streams{Out: io.Discard, Err: io.Discard}, true)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	err = kong.Visit(parser.Model, func(node kong.Visitable, next kong.Next) error {
		if v, ok := node.(*kong.Value); ok {
			all.WriteString(v.Help + "\n")
		}
		return next(nil)
	})
	if err != nil || strings.Contains(all.String(), "${") {
		t.Errorf("%v: a name is left in the help:\n%s", err, all.String())
	}
	for line := range strings.Lines(helpTexts) {
		name, text, begins := strings.Cut(line, "_help: ")
		if begins && !strings.Contains(all.String(), text[:min(len(text)-1, 40)]) {
			t.Errorf("no flag has the help %s", name)
		}
	}
}

// Each key has one place in the groups, and the groups name nothing that no command has.
func TestHelpGroups(t *testing.T) {
	var all []string
	for _, g := range helpGroups {
		all = append(all, slices.Concat(g.shown, g.more)...)
	}
	for _, k := range scenario.Keys() {
		if n := len(slices.DeleteFunc(slices.Clone(all), func(n string) bool { return n != k.Name })); n != 1 {
			t.Errorf("%s is in %d places", k.Name, n)
		}
	}
	_, whole, _ := runCLI(t, "run", "--help", "--all")
	for _, name := range all {
		if !strings.Contains(whole, "--"+name) {
			t.Errorf("run has no flag --%s", name)
		}
	}
}

func TestFirstClause(t *testing.T) {
	for help, want := range map[string]string{
		"Where servers keep their logs (default disk).":              "Where servers keep their logs (default disk)",
		"Image of the clients' hosts, if it is a command.":           "Image of the clients' hosts, if it is a command",
		"Hold: 5ms, exponential(5ms) or more (default 0s).":          "Hold (default 0s)",
		"A lock; or several (which are dealt) here (default mutex).": "A lock (default mutex)",
		"Directory. The default is runs/x ($LOCKLAB_OUT).":           "Directory ($LOCKLAB_OUT)",
		"Whether it asks (closed), or is due; else (default closed).": "Whether it asks (closed), or is due " +
			"(default closed)",
	} {
		if got := firstClause(help); got != want {
			t.Errorf("%q\n got %q\nwant %q", help, got, want)
		}
	}
}
