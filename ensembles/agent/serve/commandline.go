package serve

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"locklab/ensembles/agent"
	"locklab/ensembles/software"
)

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
		l, err := software.Find(os.DirFS("/"), os.Getenv("JAVA_HOME"), cmp.Or(spec.Home, os.Getenv("ZOOKEEPER_HOME")))
		if err != nil {
			return nil, fmt.Errorf("start: %w", err)
		}
		argv[0] = l.Java
		if spec.ZooKeeper {
			// The working directory comes first, because Debian's jar finds its log4j configuration on the class path.
			argv = slices.Insert(argv, 1, "-cp", strings.Join(append([]string{"."}, l.ClassPath...), ":"))
		}
	}
	return argv, nil
}
