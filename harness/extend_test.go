package harness

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"locklab/ensembles/labtest/suite"
	"locklab/harness/history"
)

// An addition is what somebody adds to locklab: a file of its own in a package, and a line in the package's list.
type addition struct {
	pkg, file, text string
	list            string // the file that has the list
	after, line     string // the line of the list that the new line follows, and the new line
}

// additions are one of each kind of thing that is added by one file and one line.
var additions = []addition{addedCheck, addedFault, addedRecipe, addedQuantity}

// What somebody adds by one file and one line is found everywhere: by users in the schema, in hints and in scenarios,
// and by readers in results, reports and manuals. One build of the program has all the additions, because a build
// takes long.
func TestAnAdditionIsOneFileAndOneLine(t *testing.T) {
	dir := t.TempDir()
	overlay := overlayOf(t, dir, additions) // in every run of the tests, so that the lists stay where they are said to be
	suite.Nightly(t, "builds the program twice; the other tests of this package keep the tables")
	if testing.Short() {
		t.Skip("builds the program")
	}
	locklab := filepath.Join(dir, "locklab")
	out, err := goCommand(t, "build", "-trimpath", "-overlay", overlay, "-o", locklab, "./harness/cmd/locklab")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Run("a check", func(t *testing.T) { testAddedCheck(t, locklab) })
	t.Run("a kind of fault", func(t *testing.T) { testAddedFault(t, locklab) })
	t.Run("a recipe", func(t *testing.T) { testAddedRecipe(t, locklab) })
	t.Run("a quantity", func(t *testing.T) { testAddedQuantity(t, locklab) })
	t.Run("the manuals", func(t *testing.T) { testManualsFollow(t, overlay) })
}

// testManualsFollow runs the tests of the manuals' generated tables with the additions. They must fail, and show the
// rows that the tables lack.
func testManualsFollow(t *testing.T, overlay string) {
	out, err := goCommand(t, "test", "-trimpath", "-vet=off", "-overlay", overlay, "./harness/cmd/locklab",
		"-run", "TestReadmeLists|TestReadmeExplains")
	if err == nil {
		t.Fatal("the manuals are said to be complete, though they lack the additions")
	}
	for _, row := range []string{
		"| `novelty` | Was anything new? |",
		"| `hush` | client processes | hushes a client | nothing is heard from it |",
		"| `depth` | How deep the silence is. |",
		"| `new-mutex` | `mutex` | A queue that is new. |",
		"| `recorded_events` | how many events the history has |",
	} {
		if !strings.Contains(out, row) {
			t.Errorf("the tables lack the row\n%s\nin\n%s", row, out)
		}
	}
}

// overlayOf writes the additions below a directory, and returns the file by which the go command sees them in this
// source.
func overlayOf(t *testing.T, dir string, all []addition) string {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	replace := map[string]string{}
	for _, a := range all {
		old, err := os.ReadFile(filepath.Join(root, a.pkg, a.list))
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(old), a.after); n != 1 {
			t.Fatalf("%s has %d lines %q", a.list, n, a.after)
		}
		for name, text := range map[string]string{
			a.list: strings.Replace(string(old), a.after, a.after+a.line, 1),
			a.file: a.text,
		} {
			path := filepath.Join(dir, "overlay", a.pkg, name)
			write(t, path, text)
			replace[filepath.Join(root, a.pkg, name)] = path
		}
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	overlay := filepath.Join(dir, "overlay.json")
	write(t, overlay, string(b))
	return overlay
}

// goCommand runs the go command at the root of this source, and returns what it printed.
func goCommand(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = ".."
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// recordRun writes the directory of a run that broke off in its measured window, after these events.
func recordRun(t *testing.T, scenario string, events ...history.Event) string {
	t.Helper()
	run := filepath.Join(t.TempDir(), "run")
	write(t, filepath.Join(run, "scenario.yaml"), scenario)
	rec, err := history.NewRecorder(filepath.Join(run, "hosts", "harness", "history"), "harness", history.NewClock())
	if err != nil {
		t.Fatal(err)
	}
	begun := []history.Event{history.Begins(1, "new", ""), history.PhaseBegins(2, history.PhaseMeasure)}
	for _, e := range append(begun, events...) {
		if err := rec.Record(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	return run
}

// written returns a file of a run directory.
func written(t *testing.T, run, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(run, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// runs runs a command that must end with that exit code, and returns what it printed.
func runs(t *testing.T, bin string, code int, args ...string) string {
	t.Helper()
	out, err := exec.Command(bin, args...).CombinedOutput()
	got := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	if got != code {
		t.Errorf("%v ended with %d, want %d\n%s", args, got, code, out)
	}
	return string(out)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
