package rundir

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"locklab/harness/history"
)

// The history of a long run is not written, and that of an earlier judgement does not stay.
func TestLongHistoryIsLeftOut(t *testing.T) {
	dir := t.TempDir()
	nothing := func(io.Writer) error { return nil }
	d := Derived{History: history.NewLog([]history.Event{history.Ready(1), history.Done()}), Hlog: nothing,
		Hiccups: nothing, Bench: nothing}
	for _, c := range []struct {
		most    int
		written bool
	}{{2, true}, {1, false}, {1, false}, {3, true}} {
		if err := writeDerived(dir, d, c.most); err != nil {
			t.Fatal(err)
		}
		_, err := os.Stat(filepath.Join(dir, HistoryFile))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if written := err == nil; written != c.written {
			t.Errorf("2 events of at most %d: written is %v", c.most, written)
		}
	}
}
