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
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A listedPackage is what go list prints of a package.
type listedPackage struct {
	Dir, ImportPath, Name, Doc string
	Imports, Deps              []string
	GoFiles, TestGoFiles       []string
	XTestGoFiles               []string
	Standard                   bool
}

// listed has what go list printed, by its arguments: loading all packages takes seconds.
var listed = map[string][]listedPackage{}

// list runs go list in the module's root, once for the same arguments.
func list(t *testing.T, args ...string) []listedPackage {
	t.Helper()
	key := strings.Join(args, " ")
	if _, ok := listed[key]; !ok {
		listed[key] = runList(t, args...)
	}
	return listed[key]
}

func runList(t *testing.T, args ...string) []listedPackage {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json"}, args...)...)
	cmd.Dir = ".."
	cmd.Stderr = t.Output()
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []listedPackage
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listedPackage
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

const module = "locklab/"

// A layer is a set of packages that do not import each other.
type layer struct {
	name     string
	packages []string
}

// layers has every package of this module, the lowest layer first. A package may import packages of lower layers only.
// The architecture manual draws this list.
var layers = []layer{
	{"foundations", []string{"recipes/zkproto", "recipes/zktest/sim", "harness/fail"}},
	{"events and settings", []string{"harness/gate", "harness/history", "harness/settings", "harness/untrusted",
		"ensembles/reach", "ensembles/software", "ensembles/txnlog", "recipes/internal/tasks", "recipes/internal/wire",
		"recipes/observe",
		"ensembles/labtest/suite", "ensembles/labtest/apart", "reports/words", "reports/doc", "workloads/foreign/examples"}},
	{"sessions", []string{"ensembles/debian", "recipes/zksession", "recipes/observe/slogobserver",
		"recipes/observe/otelobserver"}},
	{"locks", []string{"recipes", "recipes/zktest"}},
	{"peers and controls", []string{"recipes/broken", "recipes/curator"}},
	{"evidence", []string{"ensembles/remote", "ensembles/txnlog/nodes", "harness/history/historytest", "harness/hiccups",
		"ensembles/labtest/curatortest", "harness/check/spans", "harness/check/memo"}},
	{"service", []string{"harness/check/service"}},
	{"evidence of checks", []string{"harness/check/evidence"}},
	{"judges", []string{"harness/check/counters", "harness/check/effect", "harness/check/progress"}},
	{"checks and agents", []string{"harness/check", "harness/inspect", "ensembles/agent"}},
	{"ensembles", []string{"ensembles/agent/serve", "ensembles", "harness/secondopinion"}},
	{"kinds of labs", []string{"ensembles/docker", "ensembles/kubernetes", "ensembles/netns",
		"ensembles/process"}},
	{"table of labs", []string{"ensembles/labs"}},
	{"load", []string{"ensembles/labtest", "workloads"}},
	{"other processes", []string{"workloads/foreign"}},
	{"recipe table", []string{"workloads/lock", "workloads/foreign/drivercheck"}},
	{"guards and orders", []string{"workloads/guard", "workloads/control"}},
	{"resource", []string{"workloads/resource"}},
	{"claims", []string{"workloads/claims"}},
	{"clients", []string{"workloads/client"}},
	{"faults", []string{"chaos"}},
	{"scenarios", []string{"harness/scenario"}},
	{"run directories", []string{"harness/rundir", "harness/commandline", "reports/capacity", "reports/junit"}},
	{"measures", []string{"reports/measure"}},
	{"results", []string{"reports/result", "reports/internal/synth", "reports/internal/browser", "harness/records",
		"reports/chart", "harness/watch"}},
	{"timelines", []string{"reports/timeline"}},
	{"pages", []string{"reports/runpage", "reports/compare", "reports/advice", "reports/danger",
		"reports/export", "reports/index"}},
	{"judgement", []string{"harness/judge", "reports/gatecurve", "reports/sweep", "reports/serve",
		"reports/figures"}},
	{"runs", []string{"harness/simulate", "harness/run", "harness/incluster"}},
	{"series", []string{"harness/series", "harness/doctor"}},
	{"comparisons, console", []string{"harness/series/bench", "harness/console"}},
	{"inside labs", []string{"harness/inlab"}},
	{"command", []string{"harness/cmd/locklab"}},
}

// folders are packages without code: their doc.go describes the packages below the folder, and nothing imports them.
var folders = []string{"harness", "reports"}

// A folder's doc.go names every package of the folder, because a reader of the code meets no other list of them.
func TestFoldersNameTheirPackages(t *testing.T) {
	for _, folder := range folders {
		page, err := os.ReadFile(filepath.Join("..", folder, "doc.go"))
		if err != nil {
			t.Fatal(err)
		}
		entries, err := os.ReadDir(filepath.Join("..", folder))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			named := regexp.MustCompile(`(?m)^//   - (.* )?` + regexp.QuoteMeta(e.Name()) + `[ .]`)
			if e.IsDir() && !named.Match(page) {
				t.Errorf("%s/doc.go has no line that names %s", folder, e.Name())
			}
		}
	}
}

// programs are commands that tests build and run; nothing imports them.
var programs = []string{"ensembles/labtest/apart/keeper", "ensembles/labtest/suite/runsuite", "harness/benchpeers",
	"harness/run/testdata/leaky", "recipes/broken/broken-lock", "workloads/foreign/examples/zk-lock"}

// layerOf returns the index of a package's layer, or -1.
func layerOf(pkg string) int {
	return slices.IndexFunc(layers, func(l layer) bool { return slices.Contains(l.packages, pkg) })
}

// Every package is documented, belongs to one layer, and imports only packages of lower layers.
func TestPackagesImportLowerLayers(t *testing.T) {
	for _, p := range list(t, "./...") {
		name := strings.TrimPrefix(p.ImportPath, module)
		if strings.TrimSpace(p.Doc) == "" {
			t.Errorf("%s has no package comment", name)
		}
		if slices.Contains(folders, name) {
			if !slices.Equal(p.GoFiles, []string{"doc.go"}) {
				t.Errorf("%s has code in %v; only its doc.go belongs into this folder", name, p.GoFiles)
			}
			continue
		}
		if slices.Contains(programs, name) {
			continue
		}
		above := layerOf(name)
		if above < 0 {
			t.Errorf("%s has no layer: add it to the lowest layer that is above all packages it imports", name)
			continue
		}
		for _, i := range p.Imports {
			ours, ok := strings.CutPrefix(i, module)
			if !ok {
				continue
			}
			switch below := layerOf(ours); {
			case below < 0:
				t.Errorf("%s imports %s, which has no layer", name, ours)
			case below >= above:
				t.Errorf("%s (%s) imports %s (%s), which is not in a lower layer", name, layers[above].name, ours,
					layers[below].name)
			}
		}
	}
}

// What only tests use is not counted as product, so nothing of the product imports it.
func TestProductImportsNoTestSupport(t *testing.T) {
	text, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\nTEST_SUPPORT := ")
	named, _, _ := strings.Cut(rest, "\nMOST_LINES")
	folders := strings.Fields(strings.ReplaceAll(named, "\\\n", " "))
	support := func(pkg string) bool {
		return slices.ContainsFunc(folders, func(f string) bool { return pkg == f || strings.HasPrefix(pkg, f+"/") })
	}
	seen := 0
	for _, p := range list(t, "./...") {
		if support(strings.TrimPrefix(p.ImportPath, module)) {
			seen++
			continue
		}
		for _, i := range p.Imports {
			if ours, ok := strings.CutPrefix(i, module); ok && support(ours) {
				t.Errorf("%s imports %s, which is for tests", p.ImportPath, ours)
			}
		}
	}
	if seen < len(folders) { // testcluster is a module of its own, and others have several packages
		t.Errorf("%v have only %d packages", folders, seen)
	}
}

// The layers name only packages that exist, and each of them once.
func TestLayersNamePackagesOnce(t *testing.T) {
	exists := map[string]bool{}
	for _, p := range list(t, "./...") {
		exists[strings.TrimPrefix(p.ImportPath, module)] = true
	}
	seen := map[string]bool{}
	for _, l := range layers {
		for _, name := range l.packages {
			if !exists[name] {
				t.Errorf("layer %s names %s, which does not exist", l.name, name)
			}
			if seen[name] {
				t.Errorf("%s is in two layers", name)
			}
			seen[name] = true
		}
	}
}

// The locks can be used as a library: they import nothing of this module outside recipes.
func TestRecipesAreALibrary(t *testing.T) {
	for _, p := range list(t, "./recipes/...") {
		for _, i := range p.Imports {
			if ours, ok := strings.CutPrefix(i, module); ok && ours != "recipes" && !strings.HasPrefix(ours, "recipes/") {
				t.Errorf("%s imports %s", p.ImportPath, ours)
			}
		}
	}
}

// The locks need two other modules. What needs more is a package of its own.
func TestLibraryNeedsTwoModules(t *testing.T) {
	for _, p := range list(t, "-deps", "./recipes", "./recipes/observe/slogobserver", "./recipes/zktest") {
		if !p.Standard && !strings.HasPrefix(p.ImportPath, module+"recipes") &&
			p.ImportPath != "github.com/go-zookeeper/zk" && p.ImportPath != "github.com/google/uuid" {
			t.Errorf("the locks depend on %s", p.ImportPath)
		}
	}
}

// Package history depends on the standard library only, directly and indirectly.
func TestHistoryIsALeaf(t *testing.T) {
	for _, p := range list(t, "-deps", "./harness/history") {
		if !p.Standard && p.ImportPath != module+"harness/history" {
			t.Errorf("history depends on %s", p.ImportPath)
		}
	}
}

// What keeps, reads and judges the record links neither a cluster's client nor a Docker client, and what makes a record
// neither judges nor draws: a test, a reader or an agent that needs the one need not build the other.
func TestWhatAPackageMustNotLink(t *testing.T) {
	clusters := []string{"k8s.io/", "sigs.k8s.io/", "github.com/testcontainers/"}
	pictures := []string{"gonum.org/v1/plot", "html/template"}
	for _, c := range []struct {
		packages, never []string
	}{
		{[]string{"./harness/history", "./harness/scenario", "./harness/rundir", "./harness/check", "./reports/result"},
			slices.Concat(clusters, pictures)},
		{[]string{"./harness/run"}, slices.Concat(pictures, []string{module + "harness/judge"})},
	} {
		for _, p := range list(t, append([]string{"-deps"}, c.packages...)...) {
			if slices.ContainsFunc(c.never, func(prefix string) bool { return strings.HasPrefix(p.ImportPath, prefix) }) {
				t.Errorf("one of %v depends on %s", c.packages, p.ImportPath)
			}
		}
	}
}

// Only one file, tests included, imports the Docker client and testcontainers.
func TestOneFileImportsDocker(t *testing.T) {
	const only = "ensembles/docker/engine.go"
	docker := []string{"github.com/testcontainers/", "github.com/moby/", "github.com/docker/"}
	found := false
	for _, p := range list(t, "./...") {
		for _, f := range slices.Concat(p.GoFiles, p.TestGoFiles, p.XTestGoFiles) {
			name := path.Join(strings.TrimPrefix(p.ImportPath, module), f)
			for _, i := range imports(t, filepath.Join(p.Dir, f)) {
				if !slices.ContainsFunc(docker, func(prefix string) bool { return strings.HasPrefix(i, prefix) }) {
					continue
				}
				found = found || name == only
				if name != only {
					t.Errorf("%s imports %s, which only %s may import", name, i, only)
				}
			}
		}
	}
	if !found {
		t.Errorf("%s does not import a Docker client, so this test looks for the wrong ones", only)
	}
}

// imports returns the import paths of a file.
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

// The top level has only the folders and files of the layout.
func TestTopLevel(t *testing.T) {
	known := []string{"recipes", "ensembles", "workloads", "chaos", "harness", "reports",
		"Makefile", "README.md", "LICENSE", "go.mod", "go.sum", ".ci", ".github", ".gitignore"}
	unversioned := []string{".git", "bin", "dist", "runs"}
	entries, err := os.ReadDir("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !slices.Contains(known, e.Name()) && !slices.Contains(unversioned, e.Name()) {
			t.Errorf("%s does not belong to the fixed top level", e.Name())
		}
	}
}

// Every package of several files has its package comment in doc.go. Commands, packages of one file and labtest have it
// where their code begins.
func TestPackagesHaveDocFiles(t *testing.T) {
	for _, p := range list(t, "./...") {
		name := strings.TrimPrefix(p.ImportPath, module)
		if p.Name != "main" && len(p.GoFiles) > 1 && name != "ensembles/labtest" && !slices.Contains(p.GoFiles, "doc.go") {
			t.Errorf("%s has no doc.go", name)
		}
	}
}
