package software

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// A Layout says where a root has Java and ZooKeeper.
type Layout struct {
	Java string
	// ClassPath has ZooKeeper's jars. Debian's one jar names the others.
	ClassPath []string
}

// javaPlaces are the paths at which Java is looked for, in this order and after $JAVA_HOME.
var javaPlaces = []string{"opt/java/openjdk/bin/java", "usr/local/openjdk-*/bin/java", "usr/lib/jvm/*/bin/java",
	"opt/bitnami/java/bin/java", "usr/bin/java", "usr/local/bin/java"}

// jarPlaces are the paths at which ZooKeeper's jars are looked for: the unpacked distributions of the official image
// and of Bitnami's, then Debian's package, whose one jar names the others in its manifest.
var jarPlaces = []string{"apache-zookeeper-*/lib/*.jar", "opt/apache-zookeeper-*/lib/*.jar",
	"opt/bitnami/zookeeper/lib/*.jar", debianJar}

const debianJar = "usr/share/java/zookeeper.jar"

// debianLogging are the jars that the manifest of Debian's jar leaves out. Without them a server logs nothing.
var debianLogging = []string{"usr/share/java/slf4j-log4j12.jar", "usr/share/java/log4j-1.2.jar"}

// Describe says which Java and which ZooKeeper servers would run in that root, or why none can. home, unless empty, is
// the directory of the ZooKeeper.
func Describe(root fs.FS, home string) (string, error) {
	l, err := Find(root, os.Getenv("JAVA_HOME"), cmp.Or(home, os.Getenv("ZOOKEEPER_HOME")))
	if err != nil {
		return "", fmt.Errorf("%w; on Debian, as root: apt-get install openjdk-17-jre-headless zookeeper", err)
	}
	server := slices.IndexFunc(l.ClassPath, func(jar string) bool { return IsServerJar(path.Base(jar)) })
	return l.Java + ", " + l.ClassPath[max(0, server)], nil
}

// Find finds Java and ZooKeeper in a root, first where the environment says that they are. Servers can run in any
// root in which it succeeds.
func Find(root fs.FS, javaHome, zookeeperHome string) (Layout, error) {
	var l Layout
	places := javaPlaces
	if javaHome != "" {
		places = append([]string{strings.TrimPrefix(path.Join(javaHome, "bin/java"), "/")}, places...)
	}
	for _, p := range places {
		found, err := fs.Glob(root, p)
		if err != nil {
			return l, err
		}
		if len(found) > 0 {
			l.Java = "/" + found[0]
			break
		}
	}
	if l.Java == "" {
		return l, errors.New("there is no java (looked in $JAVA_HOME, /opt/java, /usr/local, /usr/lib/jvm, " +
			"/opt/bitnami/java, /usr/bin)")
	}
	if zookeeperHome != "" {
		jars, err := Jars(root, zookeeperHome)
		l.ClassPath = jars
		return l, err
	}
	for _, p := range jarPlaces {
		found, err := fs.Glob(root, p)
		if err != nil {
			return l, err
		}
		if len(found) > 0 {
			slices.Sort(found)
			if p == debianJar {
				found = append(found, present(root, debianLogging)...)
			}
			for _, f := range found {
				l.ClassPath = append(l.ClassPath, "/"+f)
			}
			return l, nil
		}
	}
	return l, fmt.Errorf("there are no ZooKeeper jars (looked for /%s)", strings.Join(jarPlaces, ", /"))
}

func present(root fs.FS, names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		_, err := fs.Stat(root, name)
		return err != nil
	})
}
