package curator

import (
	"archive/zip"
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// properties is where Maven leaves what a jar of Curator's recipes is. A file's name is no
// help: Debian's has no version.
const properties = "META-INF/maven/org.apache.curator/curator-recipes/pom.properties"

// Version returns the version of the Curator in the jars, such as "5.4.0", by what the jar of its
// recipes says of itself; empty = none says. Of several it is the first, which Java takes too.
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
