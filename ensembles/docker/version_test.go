package docker

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"locklab/ensembles"
)

// tarOfFiles returns a tar with these files, each with its own name in it. "a -> b" is a link to b.
func tarOfFiles(t *testing.T, names ...string) io.Reader {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range names {
		h := &tar.Header{Name: name, Typeflag: tar.TypeReg, Size: int64(len(name))}
		if link, target, ok := strings.Cut(name, " -> "); ok {
			h = &tar.Header{Name: link, Linkname: target, Typeflag: tar.TypeSymlink}
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			if _, err := io.WriteString(w, name); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &b
}

func TestJarsInAnImage(t *testing.T) {
	const lib = "apache-zookeeper-3.9.4-bin/lib/"
	official := []string{lib + "netty-4.jar", lib + "zookeeper-3.9.4.jar", lib + "LICENSE.txt",
		lib + "link.jar -> netty-4.jar", lib + "gone.jar -> ../gone.jar"}
	const java = "usr/share/java/"
	for name, c := range map[string]struct {
		files []string
		want  string
	}{
		"official": {slices.Concat([]string{"bin/sh"}, official, []string{"etc/passwd"}),
			"link.jar netty-4.jar zookeeper-3.9.4.jar"},
		"at the end": {official, "link.jar netty-4.jar zookeeper-3.9.4.jar"},
		"below opt":  {[]string{"opt/" + lib + "zookeeper-3.9.4.jar"}, "zookeeper-3.9.4.jar"},
		"Bitnami":    {[]string{"opt/bitnami/zookeeper/lib/zookeeper-3.9.3.jar"}, "zookeeper-3.9.3.jar"},
		"the first place": {slices.Concat(official[:2], []string{java + "zookeeper-3.8.jar"}),
			"netty-4.jar zookeeper-3.9.4.jar"},
		"other jars before": {[]string{lib + "netty-4.jar", java + "zookeeper-3.8.jar"}, "zookeeper-3.8.jar"},
		"a directory within": {[]string{java + "a.jar", java + "b/c.jar", java + "zookeeper-3.8.jar"},
			"a.jar zookeeper-3.8.jar"},
		"no ZooKeeper": {[]string{java + "a.jar", "srv/zookeeper-3.8.jar"}, ""},
	} {
		found, err := jarsIn(tarOfFiles(t, c.files...))
		got := strings.Join(slices.Sorted(maps.Keys(found)), " ")
		if got != c.want || (c.want == "") != errors.Is(err, errNoJars) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if _, err := jarsIn(strings.NewReader("no tar")); err == nil || errors.Is(err, errNoJars) {
		t.Errorf("a broken tar: %v", err)
	}
}

// A host has the image that it starts with, and copies of its other versions.
func TestHomesOfVersions(t *testing.T) {
	v := &versions{base: "base", names: []string{"new", "/dir"},
		jars: map[string]jars{"new": {"a.jar": nil}, "/dir": {"b.jar": nil}}}
	for _, c := range []struct {
		versions []string
		image    string
		homes    map[string]string
	}{
		{nil, "base", map[string]string{}},
		{[]string{"default", "new", "base"}, "base", map[string]string{"default": "", "new": "/zookeeper/0", "base": ""}},
		{[]string{"/dir", "default"}, "base", map[string]string{"default": "", "/dir": "/zookeeper/1"}},
		{[]string{"old", "new"}, "old", map[string]string{"old": "", "new": "/zookeeper/0"}},
	} {
		h := ensembles.HostSpec{Versions: c.versions}
		if got := v.homes(h); v.image(h.First()) != c.image || !maps.Equal(got, c.homes) {
			t.Errorf("%q: image %s, homes %v", c.versions, v.image(h.First()), got)
		}
		files, err := v.tarFor(h)
		if err != nil || (files == nil) != (c.homes["new"]+c.homes["/dir"] == "") {
			t.Errorf("%q: %v, %v", c.versions, files, err)
		}
	}
}
