package serve

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"locklab/ensembles/agent"
)

// A layout says where an image has Java and ZooKeeper.
type layout struct {
	java      string
	classPath []string
}

// javaPlaces are the paths at which Java is looked for, in this order and after $JAVA_HOME.
var javaPlaces = []string{"opt/java/openjdk/bin/java", "usr/local/openjdk-*/bin/java", "usr/lib/jvm/*/bin/java",
	"usr/bin/java", "usr/local/bin/java"}

// jarPlaces are the paths at which ZooKeeper's jars are looked for: the unpacked distribution of the official image,
// then Debian's package, whose one jar names the others in its manifest.
var jarPlaces = []string{"apache-zookeeper-*/lib/*.jar", "opt/apache-zookeeper-*/lib/*.jar", debianJar}

const debianJar = "usr/share/java/zookeeper.jar"

// debianLogging are the jars that the manifest of Debian's jar leaves out. Without them a server logs nothing.
var debianLogging = []string{"usr/share/java/slf4j-log4j12.jar", "usr/share/java/log4j-1.2.jar"}

// Software says which Java and which ZooKeeper servers would run in that root, or why none can.
func Software(root fs.FS) (string, error) {
	l, err := locate(root, os.Getenv("JAVA_HOME"), os.Getenv("ZOOKEEPER_HOME"))
	if err != nil {
		return "", fmt.Errorf("%w; on Debian, as root: apt-get install openjdk-17-jre-headless zookeeper", err)
	}
	return l.java + ", " + l.classPath[0], nil
}

// locate finds Java and ZooKeeper in a root, first where the environment says that they are. Servers can run in any
// root in which it succeeds.
func locate(root fs.FS, javaHome, zookeeperHome string) (layout, error) {
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
		return l, errors.New("there is no java (looked in $JAVA_HOME, /opt/java, /usr/local, /usr/lib/jvm, /usr/bin)")
	}
	jars := jarPlaces
	if zookeeperHome != "" {
		jars = []string{strings.TrimPrefix(path.Join(zookeeperHome, "lib/*.jar"), "/")}
	}
	for _, p := range jars {
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
	return l, fmt.Errorf("there are no ZooKeeper jars (looked for /%s)", strings.Join(jars, ", /"))
}

func present(root fs.FS, names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		_, err := fs.Stat(root, name)
		return err != nil
	})
}

// CommandLine resolves a program and its arguments on this host, as [agent.Spec] says of Argv. If classes is not empty,
// Java's class path has classes first and the image's ZooKeeper jars after them.
func CommandLine(argv []string, classes string) ([]string, error) {
	argv, err := resolveArgv(&agent.Spec{Argv: argv, ZooKeeper: classes != ""})
	if err == nil && classes != "" {
		argv[2] = classes + ":" + argv[2]
	}
	return argv, err
}

// resolveArgv resolves a spec's program on this host.
func resolveArgv(spec *agent.Spec) ([]string, error) {
	argv := slices.Clone(spec.Argv)
	switch argv[0] {
	case "locklab":
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		argv[0] = self
	case "java":
		l, err := locate(os.DirFS("/"), os.Getenv("JAVA_HOME"), os.Getenv("ZOOKEEPER_HOME"))
		if err != nil {
			return nil, fmt.Errorf("start: %w", err)
		}
		argv[0] = l.java
		if spec.ZooKeeper {
			// The working directory comes first, because Debian's jar finds its log4j configuration on the class path.
			argv = slices.Insert(argv, 1, "-cp", strings.Join(append([]string{"."}, l.classPath...), ":"))
		}
	}
	return argv, nil
}
