package software

import (
	"archive/zip"
	"bytes"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// jarWith returns a jar with that manifest.
func jarWith(t *testing.T, manifest string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	f, err := w.Create("META-INF/MANIFEST.MF")
	if err == nil {
		_, err = f.Write([]byte(manifest))
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A directory of Debian's has the jars of many packages, some of which must not be on one class path.
func TestJarsOfDebian(t *testing.T) {
	manifest := "Manifest-Version: 1.0\r\nClass-Path: /usr/share/java/netty.jar /usr/share/java/zookee\r\n per-jute.jar" +
		" /usr/share/java/absent.jar\r\nCreated-By: somebody\r\n else.jar\r\n"
	root := fstest.MapFS{"usr/share/java/zookeeper.jar": {Data: jarWith(t, manifest)}}
	for _, name := range []string{"netty", "zookeeper-jute", "zookeeper-3.8.0", "else", "slf4j-nop", "slf4j-log4j12",
		"log4j-1.2"} {
		root["usr/share/java/"+name+".jar"] = &fstest.MapFile{}
	}
	got, err := Jars(root, "/usr/share/java")
	want := []string{"/usr/share/java/log4j-1.2.jar", "/usr/share/java/netty.jar", "/usr/share/java/slf4j-log4j12.jar",
		"/usr/share/java/zookeeper-jute.jar", "/usr/share/java/zookeeper.jar"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	root["usr/share/java/zookeeper.jar"].Data = []byte("no jar")
	if _, err := Jars(root, "/usr/share/java"); err == nil {
		t.Error("a file that is no jar is one")
	}
}

// Java puts what the manifest of a jar names right behind the jar, before the jars that come after it.
func TestTheServersJarComesLast(t *testing.T) {
	names := []string{"zookeeper-3.8.0.jar", "zookeeper-jute.jar", "zstd.jar", "netty.jar"}
	want := []string{"netty.jar", "zookeeper-jute.jar", "zstd.jar", "zookeeper-3.8.0.jar"}
	got, err := Together(names, nil)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
