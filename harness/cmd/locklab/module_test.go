package main

import (
	"archive/zip"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"locklab/ensembles/labtest/suite"
)

// command runs a program in a directory and returns what it wrote to stdout.
func command(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env, cmd.Stderr = dir, append(os.Environ(), env...), t.Output()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// root returns the absolute path of the module's directory.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// A program of another module can use the recipes. Its build then contains the two libraries that the recipes need,
// and no package of the harness.
func TestRecipesServeAnotherModule(t *testing.T) {
	source, dir := root(t), t.TempDir()
	module := strings.TrimSpace(command(t, source, nil, "go", "list", "-m"))
	main := "package main\n\nimport \"" + module + "/recipes\"\n\nvar _ recipes.Lock\n\nfunc main() {}\n"
	sums, err := os.ReadFile(filepath.Join(source, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"go.mod": "module example.org/other\n\ngo 1.26\n", "main.go": main, "go.sum": string(sums),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// The modules are in the cache, since this test was built from them.
	env := []string{"GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off"}
	command(t, dir, env, "go", "mod", "edit", "-require="+module+"@v0.0.0", "-replace="+module+"="+source)
	command(t, dir, env, "go", "build", "-o", os.DevNull, ".")

	const format = "{{if not .Standard}}{{.Module.Path}}{{end}}"
	got := strings.Fields(command(t, dir, env, "go", "list", "-deps", "-f", format, "."))
	slices.Sort(got)
	want := []string{"example.org/other", "github.com/go-zookeeper/zk", "github.com/google/uuid", module}
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Compact(got)); diff != "" {
		t.Errorf("modules of the build (-want +got):\n%s", diff)
	}
}

// The bounds of what the library costs an adopter.
const (
	mostModules = 10
	mostBytes   = 10 << 20
)

// go mod tidy of a program that imports recipes, and whose tests import zktest, fetches little into an empty cache, the
// modules of the tests of both included. The module itself is a folder here, so what its archive would take is added.
func TestAdoptersFetchLittle(t *testing.T) {
	source, work := root(t), t.TempDir()
	dir, cache := filepath.Join(work, "other"), filepath.Join(work, "cache")
	module := strings.TrimSpace(command(t, source, nil, "go", "list", "-m"))
	proxy := strings.TrimSpace(command(t, source, nil, "go", "env", "GOMODCACHE"))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"go.mod":       "module example.org/other\n\ngo 1.26\n",
		"main.go":      "package main\n\nimport \"" + module + "/recipes\"\n\nvar _ recipes.Lock\n\nfunc main() {}\n",
		"main_test.go": "package main\n\nimport \"" + module + "/recipes/zktest\"\n\nvar _ zktest.Config\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// The modules are in the machine's cache, since this test was built from them.
	env := []string{"GOFLAGS=-mod=mod -modcacherw", "GOPROXY=file://" + proxy + "/cache/download", "GOSUMDB=off",
		"GOWORK=off", "GOMODCACHE=" + cache}
	command(t, dir, env, "go", "mod", "edit", "-require="+module+"@v0.0.0", "-replace="+module+"="+source)
	command(t, dir, env, "go", "mod", "tidy")
	modules, bytes := 1, archived(t, source)
	err := filepath.WalkDir(filepath.Join(cache, "cache", "download"), func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			bytes += info.Size()
		}
		if filepath.Ext(name) == ".zip" {
			modules++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d modules, %d bytes", modules, bytes)
	if modules < 3 || modules > mostModules || bytes > mostBytes {
		t.Errorf("go mod tidy fetches %d modules and %d bytes; at most %d and %d", modules, bytes, mostModules, mostBytes)
	}
}

// archived returns how long an archive of the files is that git knows.
func archived(t *testing.T, source string) int64 {
	t.Helper()
	var n counter
	z := zip.NewWriter(&n)
	for name := range strings.SplitSeq(command(t, source, nil, "git", "ls-files", "-z"), "\x00") {
		b, err := os.ReadFile(filepath.Join(source, name))
		if name == "" || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		w, err2 := z.Create(name)
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return int64(n)
}

// A counter counts what is written to it.
type counter int64

func (c *counter) Write(b []byte) (int, error) { *c += counter(len(b)); return len(b), nil }

// A copy of the repository builds after make module has renamed its module, which the nightly suite tries, and the old
// path is nowhere left in it.
func TestMakeModuleRenames(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the whole module under another path")
	}
	const renamed = "example.org/x/locklab"
	source, dir := root(t), t.TempDir()
	old := strings.TrimSpace(command(t, source, nil, "go", "list", "-m"))
	for _, name := range []string{"recipes", "ensembles", "workloads", "chaos", "harness", "reports"} {
		if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join(source, name))); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"Makefile", "README.md", "go.mod", "go.sum"} {
		b, err := os.ReadFile(filepath.Join(source, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), b, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	command(t, dir, nil, "make", "module", "PATH="+renamed)
	if got := strings.TrimSpace(command(t, dir, nil, "go", "list", "-m")); got != renamed {
		t.Errorf("the module is %s", got)
	}
	if suite.All() {
		command(t, dir, nil, "go", "build", "./...")
		command(t, dir, nil, "go", "vet", "./recipes/...", "./harness/history", "./harness/cmd/locklab")
	}
	for imported := range strings.FieldsSeq(command(t, dir, nil, "go", "list", "-test", "-f",
		`{{join .Imports "\n"}}`, "./...")) {
		if strings.HasPrefix(imported, old+"/") {
			t.Errorf("%s is still imported", imported)
		}
	}
	if out := command(t, dir, nil, "gofmt", "-l", "."); out != "" {
		t.Errorf("not formatted any more:\n%s", out)
	}
}

// make test runs the tests of every package, in one of its three lists.
func TestMakeTestRunsEveryPackage(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(root(t), "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	joined := strings.ReplaceAll(string(makefile), "\\\n", "")
	args := []string{"list", "-f", "{{.ImportPath}}"}
	for line := range strings.Lines(joined) {
		name, patterns, _ := strings.Cut(line, ":=")
		if slices.Contains([]string{"ALONE_TESTS", "LAB_TESTS", "PLAIN_TESTS"}, strings.TrimSpace(name)) {
			args = append(args, strings.Fields(patterns)...)
		}
	}
	run := strings.Fields(command(t, root(t), nil, "go", args...))
	const withTests = "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}"
	for pkg := range strings.FieldsSeq(command(t, root(t), nil, "go", "list", "-f", withTests, "./...")) {
		if !slices.Contains(run, pkg) {
			t.Errorf("make test does not run the tests of %s", pkg)
		}
	}
	if len(run) < 20 {
		t.Errorf("make test runs the tests of %d packages only", len(run))
	}
}
