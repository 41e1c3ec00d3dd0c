package serve

import (
	"archive/tar"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
)

func TestFilesStayBelowTheRoot(t *testing.T) {
	h := start(t, long)
	outside := filepath.Join(filepath.Dir(h.root), "outside")
	dir := filepath.Join(h.root, "p")
	for _, err := range []error{
		os.Mkdir(dir, 0o755), os.WriteFile(outside, []byte("secret"), 0o644),
		os.WriteFile(filepath.Join(dir, "log"), []byte("said"), 0o644),
		os.Symlink(outside, filepath.Join(dir, "link")), os.Symlink("..", filepath.Join(dir, "up")),
		os.Symlink("log", filepath.Join(dir, "inside")),
		os.Symlink("/", filepath.Join(dir, "top")), syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o644),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"p/log", "p/inside", "p/up/p/log", "./p/log", "p/../p/log"} {
		r, err := h.File(t.Context(), path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if b, err := io.ReadAll(r); err != nil || string(b) != "said" {
			t.Errorf("%s: %q, %v", path, b, err)
		}
		r.Close()
	}
	for _, path := range []string{"", "p", "p/none", outside, "../outside", "p/../../outside", "p/link",
		"p/top/etc/passwd", "/etc/passwd", "p/fifo"} {
		if r, err := h.File(t.Context(), path); err == nil {
			b, _ := io.ReadAll(r)
			r.Close()
			t.Errorf("%s was served: %q", path, b)
		}
	}
}

func TestFilesOfADirectory(t *testing.T) {
	h := start(t, long)
	dir := filepath.Join(h.root, "p")
	for _, err := range []error{
		os.MkdirAll(filepath.Join(dir, "sub"), 0o755), os.WriteFile(filepath.Join(dir, "b"), nil, 0o644),
		os.WriteFile(filepath.Join(dir, "a"), nil, 0o644),
		os.Symlink("a", filepath.Join(dir, "link")), os.Symlink("/", filepath.Join(dir, "top")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string][]string{"p": {"a", "b"}, "p/sub": {}} {
		if got, err := h.Files(t.Context(), path); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	for _, path := range []string{"", "/", "..", "p/..", "p/top", "p/top/etc", "none", "p/a"} {
		if got, err := h.Files(t.Context(), path); err == nil {
			t.Errorf("%s was listed: %q", path, got)
		}
	}
}

// A file is written once and whole, with the directories that it is in.
func TestPut(t *testing.T) {
	h := start(t, long)
	path := filepath.Join(h.root, "new", "dir", "file")
	if err := h.Put(t.Context(), path, true, strings.NewReader("given")); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(path)
	if err != nil || st.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", st, err)
	}
	if err := h.Put(t.Context(), path, true, strings.NewReader("another")); err == nil {
		t.Error("a file was overwritten")
	}
	if b, err := os.ReadFile(path); string(b) != "given" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	if err := h.Put(t.Context(), "relative", false, strings.NewReader("")); err == nil {
		t.Error("a relative path was accepted")
	}
	part := filepath.Join(h.root, "part")
	broken := io.MultiReader(strings.NewReader("half"), iotest.ErrReader(errors.New("the source broke off")))
	if err := h.Put(t.Context(), part, false, broken); err == nil {
		t.Error("half a file was accepted")
	}
	eventually(t, "half a file to be removed", func() bool { _, err := os.Stat(part); return os.IsNotExist(err) })
}

func TestFileFrom(t *testing.T) {
	h := start(t, long)
	if err := os.WriteFile(filepath.Join(h.root, "log"), []byte("said"), 0o644); err != nil {
		t.Fatal(err)
	}
	for offset, want := range map[int64]string{0: "said", 2: "id", 4: "", 9: ""} {
		r, err := h.FileFrom(t.Context(), "log", offset)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(r); err != nil || string(b) != want {
			t.Errorf("from %d: %q, %v", offset, b, err)
		}
		r.Close()
	}
	if r, err := h.FileFrom(t.Context(), "log", -1); err == nil {
		r.Close()
		t.Error("an offset below 0 was accepted")
	}
}

func TestTree(t *testing.T) {
	h := start(t, long)
	dir := filepath.Join(h.root, "p")
	for _, err := range []error{
		os.MkdirAll(filepath.Join(dir, "sub", "empty"), 0o755),
		os.WriteFile(filepath.Join(dir, "sub", "file"), []byte("content"), 0o644),
		os.Symlink("/", filepath.Join(h.root, "top")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	r, err := h.Tree(t.Context(), "p")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got := map[string]string{}
	for archive := tar.NewReader(r); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		got[header.Name] = string(b)
	}
	if want := map[string]string{"sub/": "", "sub/empty/": "", "sub/file": "content"}; !maps.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, err := h.Tree(t.Context(), "none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory that is not there: %v", err)
	}
	for _, path := range []string{"..", "top", "top/etc", "p/sub/file"} {
		if r, err := h.Tree(t.Context(), path); err == nil {
			r.Close()
			t.Errorf("%s was served", path)
		}
	}
}
