package curator

import (
	"archive/zip"
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// properties is the file in which Maven describes a jar of Curator's recipes. The jar's own file name does not help,
// because Debian's has no version.
const properties = "META-INF/maven/org.apache.curator/curator-recipes/pom.properties"

// Version returns the version of the Curator in the jars, such as "5.4.0", as the jar of its recipes states it. It is
// empty if no jar states one. Of several it is the first, which is also the one that Java uses.
func Version(jars []string) (string, error) {
	for _, jar := range jars {
		version, err := versionOf(jar)
		if err != nil {
			return "", fmt.Errorf("read the version of %s: %w", jar, err)
		}
		if version != "" {
			return version, nil
		}
	}
	return "", nil
}

// LeaksDowngrades reports whether a version lets a waiting writer in beside a writer that has become a reader
// (CURATOR-621): those before 5.5 do. One that cannot be read counts as one of them.
func LeaksDowngrades(version string) bool {
	var major, minor int
	_, err := fmt.Sscanf(version, "%d.%d", &major, &minor)
	return err != nil || major < 5 || major == 5 && minor < 5
}

func versionOf(jar string) (string, error) {
	z, err := zip.OpenReader(jar)
	if err != nil {
		return "", err
	}
	defer z.Close()
	f, err := z.Open(properties)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if version, ok := strings.CutPrefix(lines.Text(), "version="); ok {
			return strings.TrimSpace(version), nil
		}
	}
	return "", lines.Err()
}
