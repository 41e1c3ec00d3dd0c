package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// A layout is where an image keeps its Java and its ZooKeeper.
type layout struct {
	java      string
	classPath []string
}

// javaPlaces are where Java is looked for, in order, after $JAVA_HOME.
var javaPlaces = []string{"opt/java/openjdk/bin/java", "usr/local/openjdk-*/bin/java", "usr/lib/jvm/*/bin/java", "usr/bin/java", "usr/local/bin/java"}

// jarPlaces are where ZooKeeper's jars are looked for: the official image's
// unpacked distribution, then Debian's package, whose one jar names the others
// in its manifest.
var jarPlaces = []string{"apache-zookeeper-*/lib/*.jar", "opt/apache-zookeeper-*/lib/*.jar", debianJar}

const debianJar = "usr/share/java/zookeeper.jar"

// debianLogging is what the manifest of Debian's jar leaves out, and without which
// a server says nothing.
var debianLogging = []string{"usr/share/java/slf4j-log4j12.jar", "usr/share/java/log4j-1.2.jar"}

// locate finds Java and ZooKeeper in an image's root. It is the whole of the
// image's contract: any image in which it succeeds can be a server's.
func locate(root fs.FS, javaHome string) (layout, error) {
	var l layout
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
			l.java = "/" + found[0]
			break
		}
	}
	if l.java == "" {
		return l, errors.New("the image has no java (looked in $JAVA_HOME, /opt/java, /usr/local, /usr/lib/jvm, /usr/bin)")
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
				l.classPath = append(l.classPath, "/"+f)
			}
			return l, nil
		}
	}
	return l, errors.New("the image has no ZooKeeper jars (looked in /apache-zookeeper-*/lib and /usr/share/java)")
}

func present(root fs.FS, names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		_, err := fs.Stat(root, name)
		return err != nil
	})
}

// CommandLine turns words into a command line for this host, as [Spec.Argv] says.
// Classes, which may be empty, come first on Java's class path, and ZooKeeper's jars
// of the image after them.
func CommandLine(argv []string, classes string) ([]string, error) {
	argv, err := resolveArgv(&Spec{Argv: argv, ZooKeeper: classes != ""})
	if err == nil && classes != "" {
		argv[2] = classes + ":" + argv[2]
	}
	return argv, err
}

// resolveArgv turns a spec's words into a command line for this host.
func resolveArgv(spec *Spec) ([]string, error) {
	argv := slices.Clone(spec.Argv)
	switch argv[0] {
	case "locklab":
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		argv[0] = self
	case "java":
		l, err := locate(os.DirFS("/"), os.Getenv("JAVA_HOME"))
		if err != nil {
			return nil, fmt.Errorf("start: %w", err)
		}
		argv[0] = l.java
		if spec.ZooKeeper {
			// Debian's jar needs its log4j configuration from somewhere; the
			// working directory comes first.
			argv = slices.Insert(argv, 1, "-cp", strings.Join(append([]string{"."}, l.classPath...), ":"))
		}
	}
	return argv, nil
}
