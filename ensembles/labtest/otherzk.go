package labtest

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"locklab/ensembles/software"
)

// OtherNumber is the version that the ZooKeeper of [OtherZooKeeper] tells.
const OtherNumber = "3.8.77"

// OtherZooKeeper returns the directory of a ZooKeeper that is this machine's in all but the version that it tells. The
// directory is laid out as the distribution is. Without a ZooKeeper on this machine the test is skipped.
func OtherZooKeeper(t testing.TB) string {
	t.Helper()
	paths, err := software.Jars(os.DirFS("/"), "/usr/share/java")
	if err != nil {
		t.Skipf("needs the jars of Debian's package libzookeeper-java: %v", err)
	}
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, "lib"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, p := range paths {
		content, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(p)
		if software.IsServerJar(name) {
			name = "zookeeper-" + OtherNumber + ".jar"
			if content, err = Renumber(content); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(home, "lib", name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return home
}

// Renumber returns ZooKeeper's jar with OtherNumber in the class that knows the version.
func Renumber(jar []byte) ([]byte, error) {
	r, err := zip.NewReader(bytes.NewReader(jar), int64(len(jar)))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range r.File {
		if f.Name != "org/apache/zookeeper/Version.class" {
			if err := w.Copy(f); err != nil {
				return nil, err
			}
			continue
		}
		in, err := f.Open()
		if err != nil {
			return nil, err
		}
		class, err := io.ReadAll(in)
		if err != nil {
			return nil, err
		}
		changed := versionConstant.ReplaceAll(class, constant(OtherNumber))
		if bytes.Equal(changed, class) {
			return nil, fmt.Errorf("%s has no version", f.Name)
		}
		out, err := w.Create(f.Name)
		if err == nil {
			_, err = out.Write(changed)
		}
		if err != nil {
			return nil, err
		}
	}
	err = w.Close()
	return b.Bytes(), err
}

// versionConstant matches the version among the constants of a class: a tag, a length of two bytes, and the text.
var versionConstant = regexp.MustCompile(`\x01\x00[\x05-\x08][0-9]+\.[0-9]+\.[0-9]+`)

// constant returns a text as a constant of a class.
func constant(text string) []byte {
	return append([]byte{1, 0, byte(len(text))}, text...)
}
