package historytest

import (
	"os"
	"path/filepath"

	"pgregory.net/rapid"

	"locklab/harness/history"
)

// Raw encodes events as a recorder writes them.
func Raw(t rapid.TB, dir string, events []history.Event) []byte {
	t.Helper()
	rec, err := history.NewRecorder(dir, "c1", history.NewClock())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if err := rec.Record(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "000000"+history.SegmentSuffix))
	if err != nil {
		t.Fatal(err)
	}
	return b
}
