package records

import (
	"os"
	"path/filepath"
	"testing"
)

// A file to which a killed program appended is mended in one way, whether it is read or appended to next.
func TestMend(t *testing.T) {
	for text, want := range map[string]string{
		"":                      "",
		"{\"a\":1}\n":           "{\"a\":1}\n",
		"{\"a\":1}\n{\"a\":2}":  "{\"a\":1}\n{\"a\":2}\n",
		"{\"a\":1}\n{\"a\":2":   "{\"a\":1}\n",
		"{\"a":                  "",
		"nonsense\n{\"a\":1}\n": "nonsense\n{\"a\":1}\n",
	} {
		name := filepath.Join(t.TempDir(), "all.jsonl")
		for step, mended := range map[string]struct {
			mend func() error
			want string
		}{
			"mended":      {func() error { return Mend(name) }, want},
			"appended to": {func() error { return Append(name, map[string]int{"a": 3}) }, want + "{\"a\":3}\n"},
		} {
			if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := mended.mend(); err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(name); err != nil || string(got) != mended.want {
				t.Errorf("%q, %s: %q, want %q, %v", text, step, got, mended.want, err)
			}
		}
	}
	if err := Mend(filepath.Join(t.TempDir(), "none.jsonl")); err != nil {
		t.Errorf("no file: %v", err)
	}
}
