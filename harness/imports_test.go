package harness

import (
	"encoding/json"
	"errors"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// listed is a package as go list tells of it.
type listed struct {
	Dir, ImportPath, Name, Doc string
	Imports, Deps              []string
	GoFiles, TestGoFiles       []string
	XTestGoFiles               []string
	Standard                   bool
}

// list asks go list, from the module's root.
func list(t *testing.T, args ...string) []listed {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json"}, args...)...)
	cmd.Dir = ".."
	cmd.Stderr = t.Output()
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// mayImport says which packages of ours a package may import, by the longest
// prefix of its path. A trailing /... takes what is below, too.
var mayImport = map[string][]string{
	"recipes":             {"recipes/..."}, // a library of its own
	"harness/history":     {},
	"harness/check":       {"harness/history", "ensembles/txnlog/..."}, // the servers' own word
	"harness/hiccups":     {"harness/history"},
	"harness/scenario":    {"workloads"}, // whose values it reads
	"ensembles":           {"ensembles/...", "harness/history"},
	"chaos":               {"chaos/...", "ensembles/...", "harness/history"},
	"workloads":           {"workloads/...", "recipes/...", "harness/history", "harness/hiccups"},
	"reports":             {"reports/...", "harness/history", "harness/check", "harness/hiccups"},
	"harness":             {"harness/history", "harness/check", "harness/hiccups", "harness/scenario", "recipes/...", "ensembles/...", "workloads/...", "chaos/...", "reports/..."},
	"harness/bench":       {"harness", "harness/scenario", "harness/check", "reports/..."},
	"harness/cmd/locklab": {"..."},
}

const module = "locklab/"

func rule(pkg string) ([]string, bool) {
	for p := pkg; p != "."; p = path.Dir(p) {
		if allowed, ok := mayImport[p]; ok {
			return allowed, true
		}
	}
	return nil, false
}

func allows(patterns []string, pkg string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		prefix, below := strings.CutSuffix(p, "...")
		prefix = strings.TrimSuffix(prefix, "/")
		return pkg == prefix || below && (prefix == "" || strings.HasPrefix(pkg, prefix+"/"))
	})
}

// The imports between our packages point the one way that the design has them.
func TestImportDirections(t *testing.T) {
	for _, p := range list(t, "./...") {
		name := strings.TrimPrefix(p.ImportPath, module)
		allowed, ok := rule(name)
		if !ok {
			t.Errorf("%s: a package that the layout does not know", name)
			continue
		}
		for _, i := range p.Imports {
			if ours, ok := strings.CutPrefix(i, module); ok && !allows(allowed, ours) {
				t.Errorf("%s imports %s; it may import %v", name, ours, allowed)
			}
		}
		if strings.TrimSpace(p.Doc) == "" {
			t.Errorf("%s: no package comment", name)
		}
	}
}

// A leaf imports nothing but the standard library, all the way down.
func TestHistoryIsALeaf(t *testing.T) {
	for _, p := range list(t, "-deps", "./harness/history") {
		if !p.Standard && p.ImportPath != module+"harness/history" {
			t.Errorf("history needs %s", p.ImportPath)
		}
	}
}

// One file knows the Docker client and testcontainers; tests included.
func TestOneFileKnowsDocker(t *testing.T) {
	const only = "ensembles/engine.go"
	found := false
	for _, p := range list(t, "./...") {
		for _, f := range slices.Concat(p.GoFiles, p.TestGoFiles, p.XTestGoFiles) {
			name := path.Join(strings.TrimPrefix(p.ImportPath, module), f)
			for _, i := range imports(t, filepath.Join(p.Dir, f)) {
				if !slices.ContainsFunc([]string{"github.com/testcontainers/", "github.com/moby/", "github.com/docker/"}, func(prefix string) bool { return strings.HasPrefix(i, prefix) }) {
					continue
				}
				found = found || name == only
				if name != only {
					t.Errorf("%s imports %s, which is for %s alone", name, i, only)
				}
			}
		}
	}
	if !found {
		t.Errorf("%s imports no Docker client: this test looks for the wrong ones", only)
	}
}

func imports(t *testing.T, file string) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, s := range f.Imports {
		i, err := strconv.Unquote(s.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, i)
	}
	return all
}

// The top level is fixed.
func TestTopLevel(t *testing.T) {
	known := []string{"recipes", "ensembles", "workloads", "chaos", "harness", "reports",
		"Makefile", "README.md", "LICENSE", "go.mod", "go.sum", ".ci", ".github", ".gitignore"}
	unversioned := []string{".git", "bin", "runs"}
	entries, err := os.ReadDir("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !slices.Contains(known, e.Name()) && !slices.Contains(unversioned, e.Name()) {
			t.Errorf("%s is not of the fixed top level", e.Name())
		}
	}
}

// Every folder of the layout says what it is in its doc.go. A command and what
// only tests use have their comment where their code begins.
func TestFoldersSayWhatTheyAre(t *testing.T) {
	for _, p := range list(t, "./...") {
		name := strings.TrimPrefix(p.ImportPath, module)
		if p.Name != "main" && name != "ensembles/labtest" && !slices.Contains(p.GoFiles, "doc.go") {
			t.Errorf("%s: no doc.go", name)
		}
	}
}
