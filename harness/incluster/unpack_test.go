package incluster

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// An archive cannot write outside the directory, and half an archive is an error.
func TestUnpackRefuses(t *testing.T) {
	archive := func(h tar.Header) []byte {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		h.Mode = 0o644
		if h.Typeflag == tar.TypeReg {
			h.Size = 1000
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(make([]byte, h.Size)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	file := archive(tar.Header{Name: "f", Typeflag: tar.TypeReg})
	for name, b := range map[string][]byte{
		"a path that leaves it": archive(tar.Header{Name: "../b", Typeflag: tar.TypeReg}),
		"an absolute path":      archive(tar.Header{Name: "/b", Typeflag: tar.TypeReg}),
		"a link":                archive(tar.Header{Name: "b", Linkname: "/etc/passwd", Typeflag: tar.TypeSymlink}),
		"half a file":           file[:800],
		"half a header":         file[:100],
	} {
		dir := filepath.Join(t.TempDir(), "below", "dir")
		if err := unpack(bytes.NewReader(b), dir); err == nil {
			t.Errorf("%s was accepted", name)
		}
		if _, err := os.Stat(filepath.Join(dir, "..", "b")); err == nil {
			t.Errorf("%s was written", name)
		}
	}
}
