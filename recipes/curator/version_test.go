package curator_test

import (
	"archive/zip"
	"errors"
	"os"
	"path/filepath"
	"strings"
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

// The jars of a version are found wherever they are: where LOCKLAB_CURATOR_JARS says, or where they were unpacked. The
// newest of those that were unpacked are the ones of no version in particular.
func TestJarsOfAVersion(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv(curator.EnvJars, "")
	jarIn := func(dir, version string) {
		t.Helper()
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"curator-framework", "curator-client", "guava", "slf4j-api"} {
			if err := os.Rename(jarOf(t, name, ""), filepath.Join(dir, name+".jar")); err != nil {
				t.Fatal(err)
			}
		}
		recipes := jarOf(t, "META-INF/maven/org.apache.curator/curator-recipes/pom.properties", "version="+version)
		if err := os.Rename(recipes, filepath.Join(dir, "curator-recipes.jar")); err != nil {
			t.Fatal(err)
		}
	}
	for _, version := range curator.Versions {
		jarIn(filepath.Join(cache, "locklab", "curator-"+version), version)
	}
	own := filepath.Join(t.TempDir(), "own")
	jarIn(own, "2.13.0")
	for _, tt := range []struct{ named, version, want string }{
		{"", "", "5.7.1"}, {"", "5.7.1", "5.7.1"}, {"", "5.4.0", "5.4.0"},
		{own, "", "2.13.0"}, {own, "2.13.0", "2.13.0"}, {own, "5.4.0", "5.4.0"},
	} {
		t.Setenv(curator.EnvJars, tt.named)
		jars, err := curator.Jars(tt.version)
		if err != nil || len(jars) != 5 {
			t.Errorf("%+v: %v, %v", tt, jars, err)
			continue
		}
		if is, err := curator.Version(jars); err != nil || is != tt.want {
			t.Errorf("%+v: version %s, %v", tt, is, err)
		}
	}
	t.Setenv(curator.EnvJars, "")
	if err := os.Remove(filepath.Join(cache, "locklab", "curator-5.7.1", "guava.jar")); err != nil {
		t.Fatal(err)
	}
	if jars, err := curator.Jars("5.7.1"); !errors.Is(err, curator.ErrMissing) ||
		!strings.Contains(err.Error(), "locklab curator 5.7.1") {
		t.Errorf("without a jar that it needs: %v, %v", jars, err)
	}
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
