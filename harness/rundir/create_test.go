package rundir

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Two commands within a second get two directories.
func TestDefaultDir(t *testing.T) {
	t.Chdir(t.TempDir())
	now := time.Date(2026, 11, 26, 8, 0, 0, 0, time.UTC)
	for _, want := range []string{"mutex-20261126-080000", "mutex-20261126-080000-2", "mutex-20261126-080000-3"} {
		dir := DefaultDir("mutex", now)
		if dir != filepath.Join("runs", want) {
			t.Errorf("%s, want %s", dir, want)
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}
