package debian

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tool puts a program in the place of mmdebstrap, which runs a script of the shell. $place is its last argument.
func tool(t *testing.T, script string) {
	t.Helper()
	bin := t.TempDir()
	text := "#!/bin/sh\nfor place; do :; done\n" + script + "\n"
	if err := os.WriteFile(filepath.Join(bin, "mmdebstrap"), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv(EnvMirror, "")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
}

// root makes a root that has ZooKeeper's jar, one that its manifest names, and one that a server does not need.
func root(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	java := filepath.Join(dir, "usr/share/java")
	if err := os.MkdirAll(java, 0o755); err != nil {
		t.Fatal(err)
	}
	var jar bytes.Buffer
	w := zip.NewWriter(&jar)
	manifest, err := w.Create("META-INF/MANIFEST.MF")
	if err == nil {
		_, err = io.WriteString(manifest, "Manifest-Version: 1.0\r\nClass-Path: netty.jar\r\n\r\n")
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"zookeeper-1.jar": jar.Bytes(), "netty.jar": {1}, "other.jar": {2},
		"slf4j-log4j12.jar": {3}, "log4j-1.2.jar": {4}} {
		if err := os.WriteFile(filepath.Join(java, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("zookeeper-1.jar", filepath.Join(java, "zookeeper.jar")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// The jars that a server needs are unpacked once, whole or not at all.
func TestUnpack(t *testing.T) {
	for _, v := range Versions {
		t.Run(v.Number, func(t *testing.T) {
			tool(t, "cp -a "+root(t)+" $place; echo done")
			dir, err := v.Unpack(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			names, err := filepath.Glob(filepath.Join(dir, "*"))
			if err != nil || len(names) == 0 {
				t.Fatalf("unpacked %v, %v", names, err)
			}
			for _, name := range []string{"zookeeper.jar", "netty.jar"} {
				if fi, err := os.Lstat(filepath.Join(dir, name)); err != nil || !fi.Mode().IsRegular() {
					t.Errorf("%s: %v, %v", name, fi, err)
				}
			}
			if _, err := os.Stat(filepath.Join(dir, "other.jar")); err == nil {
				t.Error("a jar that no server needs was unpacked")
			}
			t.Setenv("PATH", "/nonexistent")
			if again, err := v.Unpack(t.Context()); again != dir || err != nil {
				t.Errorf("unpacked again: %s, %v", again, err)
			}
		})
	}
}

// The jars that are asked for are copied, whole or not at all.
func TestCopyJars(t *testing.T) {
	tool(t, "cp -a "+root(t)+" $place; echo done")
	dir := filepath.Join(t.TempDir(), "deep", "curator")
	if err := CopyJars(t.Context(), "suite", "package", []string{"netty.jar", "missing.jar"}, dir); err == nil ||
		!strings.Contains(err.Error(), "missing.jar") || !strings.Contains(err.Error(), "package from Debian's suite") {
		t.Errorf("a jar that is not there: %v", err)
	}
	if left, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if err := CopyJars(t.Context(), "suite", "package", []string{"netty.jar", "zookeeper.jar"}, dir); err != nil {
		t.Fatal(err)
	}
	if all, err := os.ReadDir(dir); err != nil || len(all) != 2 || !all[1].Type().IsRegular() {
		t.Errorf("copied %v, %v", all, err)
	}
}

// A suite that cannot be had is one line that names the version and the suite, and leaves nothing behind.
func TestUnavailable(t *testing.T) {
	for _, v := range Versions {
		tool(t, "mkdir -p $place; echo 'I: trying' >&2; echo 'E: no such suite' >&2; echo 'E: mmdebstrap failed' >&2; exit 1")
		dir, err := v.Unpack(t.Context())
		if !errors.Is(err, ErrUnavailable) || strings.Contains(err.Error(), "\n") ||
			!strings.Contains(err.Error(), v.Number) || !strings.HasSuffix(err.Error(), "E: no such suite") {
			t.Errorf("%s: %v", v.Number, err)
		}
		if left, _ := filepath.Glob(filepath.Dir(dir) + "/*"); len(left) > 0 {
			t.Errorf("%s: left %v", v.Number, left)
		}
		if err := v.Root(t.Context(), func(io.Reader) error { return nil }); !errors.Is(err, ErrUnavailable) {
			t.Errorf("%s: root: %v", v.Number, err)
		}
	}
}
