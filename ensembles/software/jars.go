package software

import (
	"archive/zip"
	"bufio"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// zookeeperJar matches the names of the jar of ZooKeeper's server: zookeeper-3.9.3.jar, or zookeeper.jar.
var zookeeperJar = regexp.MustCompile(`^zookeeper(-[0-9].*)?\.jar$`)

// IsServerJar reports whether a file's name is that of the jar of ZooKeeper's server.
func IsServerJar(name string) bool { return zookeeperJar.MatchString(name) }

// Jars lists ZooKeeper's jars, with those that it needs, in a directory of the root or in lib below it. It knows the
// layout of the distribution, all of whose jars belong together, and that of a directory of Debian, which has those of
// other packages too.
func Jars(root fs.FS, home string) ([]string, error) {
	for _, dir := range []string{path.Join(home, "lib"), home} {
		dir = strings.TrimPrefix(path.Clean(dir), "/")
		found, err := fs.Glob(root, path.Join(dir, "*.jar"))
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(found, func(f string) bool { return IsServerJar(path.Base(f)) }) {
			continue
		}
		read := func(name string) ([]byte, error) { return fs.ReadFile(root, path.Join(dir, name)) }
		names := make([]string, len(found))
		for i, f := range found {
			names[i] = path.Base(f)
		}
		if names, err = Together(names, read); err != nil {
			return nil, fmt.Errorf("/%s: %w", dir, err)
		}
		for i := range names {
			names[i] = "/" + path.Join(dir, names[i])
		}
		return names, nil
	}
	return nil, fmt.Errorf("there are no ZooKeeper jars, such as %s", path.Join("/", home, "lib/zookeeper-3.9.3.jar"))
}

// Together returns which of the jars of one directory a server needs: all of them or, where Debian's zookeeper.jar is
// among them, those that its manifest names and two that it leaves out. They are sorted, but the server's jar comes
// last: Debian's names the others by absolute paths, where an image may have those of another version, and Java puts
// what a jar names right behind it.
func Together(names []string, read func(name string) ([]byte, error)) ([]string, error) {
	const debian = "zookeeper.jar"
	all := slices.SortedFunc(slices.Values(names), func(a, b string) int {
		if x, y := IsServerJar(a), IsServerJar(b); x != y {
			if x {
				return 1
			}
			return -1
		}
		return strings.Compare(a, b)
	})
	if !slices.Contains(all, debian) {
		return all, nil
	}
	jar, err := read(debian)
	if err != nil {
		return nil, err
	}
	needs, err := manifestClassPath(jar)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", debian, err)
	}
	if len(needs) == 0 {
		return all, nil
	}
	wanted := map[string]bool{debian: true}
	for _, name := range slices.Concat(needs, debianLogging) {
		wanted[path.Base(name)] = true
	}
	return slices.DeleteFunc(all, func(name string) bool { return !wanted[name] }), nil
}

// manifestClassPath returns the class path that a jar's manifest names.
func manifestClassPath(jar []byte) ([]string, error) {
	r, err := zip.NewReader(bytes.NewReader(jar), int64(len(jar)))
	if err != nil {
		return nil, err
	}
	manifest, err := r.Open("META-INF/MANIFEST.MF")
	if err != nil {
		return nil, nil // a jar without a manifest names nothing
	}
	defer manifest.Close()
	const most = 1 << 20
	var value strings.Builder
	within := false
	lines := bufio.NewScanner(io.LimitReader(manifest, most))
	for lines.Scan() {
		line := lines.Text()
		rest, begins := strings.CutPrefix(line, "Class-Path:")
		goesOn, continued := strings.CutPrefix(line, " ") // a manifest breaks lines after 72 bytes
		switch {
		case begins:
			within = true
			value.WriteString(rest)
		case within && continued:
			value.WriteString(goesOn)
		default:
			within = false
		}
	}
	return strings.Fields(value.String()), lines.Err()
}
