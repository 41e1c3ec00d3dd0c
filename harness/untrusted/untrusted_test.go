package untrusted_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"locklab/harness/untrusted"
)

func TestLine(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"mutex-pause", "mutex-pause"},
		{"p99 of 5 µs, naïve — 例", "p99 of 5 µs, naïve — 例"},
		{`C:\n stays`, `C:\n stays`},
		{"no\u00a0break", "no\u00a0break"},
		{"", ""},
		{"red \x1b[31mtext\x07", `red \x1b[31mtext\a`},
		{"two\nlines\r\n", `two\nlines\r\n`},
		{"a\ttab", `a\ttab`},
		{"one\u2028two\u0085three", `one\u2028two\u0085three`},
		{"\u202egnp.exe\u2069", `\u202egnp.exe\u2069`},
		{"zero\u200bwidth", `zero\u200bwidth`},
		{"csi \u009b31m", `csi \u009b31m`},
		{"half \xff\xfe", `half \xff\xfe`},
		{"nul \x00", `nul \x00`},
	} {
		if got := untrusted.Line(c.in); got != c.want {
			t.Errorf("Line(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestText(t *testing.T) {
	if got, want := untrusted.Text("one\n\ttwo\r\x1b[2J\u202e"), "one\n\ttwo"+`\r\x1b[2J\u202e`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestLines(t *testing.T) {
	type inner struct{ Name string }
	v := struct {
		A   string
		P   *inner
		S   []inner
		M   map[string]string
		Any any
		N   int
		hid string
	}{
		"a\n", &inner{"b\n"}, []inner{{"c\n"}}, map[string]string{"k\n": "v\n"},
		map[string]any{"x\n": []any{"y\n", 1.5}}, 3, "d\n",
	}
	want := v
	want.A, want.P, want.S = `a\n`, &inner{`b\n`}, []inner{{`c\n`}}
	want.M, want.Any = map[string]string{`k\n`: `v\n`}, map[string]any{`x\n`: []any{`y\n`, 1.5}}
	untrusted.Lines(&v)
	if v.hid != "d\n" {
		t.Errorf("an unexported field became %q", v.hid)
	}
	v.hid, want.hid = "", ""
	diff := cmp.Diff(want.P, v.P) + cmp.Diff(want.S, v.S) + cmp.Diff(want.M, v.M) + cmp.Diff(want.Any, v.Any)
	if diff != "" || v.A != want.A {
		t.Errorf("A is %q; others (-want +got):\n%s", v.A, diff)
	}
}

// within fails the test if something takes long: a reader that waits for a FIFO waits forever.
func within(t *testing.T, what string, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); do() }()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatalf("%s takes longer than 10 s", what)
	}
}

func fifo(t *testing.T, name string) {
	t.Helper()
	if err := syscall.Mkfifo(name, 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestReadRefusesWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	pipe, large := filepath.Join(dir, "pipe"), filepath.Join(dir, "large")
	fifo(t, pipe)
	if err := os.WriteFile(large, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, 1<<40); err != nil { // a hole, so that reading it would take long
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(pipe, link); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		pipe: "a FIFO", link: "a FIFO", dir: "a directory", "/dev/zero": "a device", large: "more than 1 KiB",
	} {
		within(t, "reading "+name, func() {
			_, err := untrusted.Read(name, 1<<10)
			if !errors.Is(err, untrusted.ErrRefused) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", name, err, want)
			}
		})
	}
	good := filepath.Join(dir, "good")
	if err := os.WriteFile(good, []byte("content"), 0o644); err != nil {
		t.Fatal(err)
	}
	if b, err := untrusted.Read(good, 7); err != nil || string(b) != "content" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := untrusted.Read(good, 6); !errors.Is(err, untrusted.ErrRefused) {
		t.Errorf("seven bytes where six are allowed: %v", err)
	}
	if _, err := untrusted.Read(filepath.Join(dir, "nowhere"), 6); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that does not exist: %v", err)
	}
}

func TestCheckDir(t *testing.T) {
	dir := t.TempDir()
	below := filepath.Join(dir, "hosts", "c1")
	if err := os.MkdirAll(below, 0o755); err != nil {
		t.Fatal(err)
	}
	history := filepath.Join(below, "history.jsonl")
	if err := os.WriteFile(history, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(history, 1<<40); err != nil {
		t.Fatal(err)
	}
	if err := untrusted.CheckDir(dir); err != nil {
		t.Errorf("a long history is refused: %v", err)
	}
	if err := untrusted.CheckDir(filepath.Join(dir, "nowhere")); err != nil {
		t.Errorf("a directory that does not exist: %v", err)
	}
	document := filepath.Join(dir, "result.json")
	if err := os.WriteFile(document, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(document, untrusted.Document+1); err != nil {
		t.Fatal(err)
	}
	if err := untrusted.CheckDir(dir); !errors.Is(err, untrusted.ErrRefused) ||
		!strings.Contains(err.Error(), "result.json") {
		t.Errorf("a large document: %v", err)
	}
	if err := os.Remove(document); err != nil {
		t.Fatal(err)
	}
	hostile := filepath.Join(below, "c1\x1b[2J")
	if err := os.WriteFile(hostile, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := untrusted.CheckDir(dir); !errors.Is(err, untrusted.ErrRefused) || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("a name that clears the screen: %q", err)
	}
	if err := os.Remove(hostile); err != nil {
		t.Fatal(err)
	}
	fifo(t, filepath.Join(below, "pipe"))
	if err := untrusted.CheckDir(dir); !errors.Is(err, untrusted.ErrRefused) ||
		!strings.Contains(err.Error(), "pipe is a FIFO") {
		t.Errorf("a FIFO: %v", err)
	}
}

func TestLinesLeavesUnexportedMapsAlone(t *testing.T) {
	v := struct {
		Text  string
		notes map[string]*int
	}{"a\nb", map[string]*int{"c\nd": new(int)}}
	untrusted.Lines(&v)
	if _, kept := v.notes["c\nd"]; !kept || v.Text == "a\nb" {
		t.Errorf("Lines made %+v", v)
	}
}
