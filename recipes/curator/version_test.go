package curator_test

import (
	"archive/zip"
	"os"
	"path/filepath"
	"testing"

	"locklab/recipes/curator"
)

// jarOf writes a jar with one entry.
func jarOf(t *testing.T, entry, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "some.jar")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z := zip.NewWriter(f)
	e, err := z.Create(entry)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return name
}

// The version is read from the jar of the recipes, whatever jars come before it and whatever its file is called.
func TestVersion(t *testing.T) {
	const of = "META-INF/maven/org.apache.curator/"
	framework := jarOf(t, of+"curator-framework/pom.properties", "version=4.0.0\n")
	recipes := jarOf(
		t,
		of+"curator-recipes/pom.properties",
		"#Generated\r\nartifactId=curator-recipes\r\nversion=5.7.1\r\n",
	)
	if got, err := curator.Version([]string{framework, recipes}); err != nil || got != "5.7.1" {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := curator.Version([]string{framework}); err != nil || got != "" {
		t.Errorf("without the recipes: %q, %v", got, err)
	}
	broken := filepath.Join(t.TempDir(), "broken.jar")
	if err := os.WriteFile(broken, []byte("no archive"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := curator.Version([]string{broken, recipes}); err == nil {
		t.Errorf("the version of a broken jar: %q", got)
	}
}
