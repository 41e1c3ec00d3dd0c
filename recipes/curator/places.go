package curator

import (
	"os"
	"path/filepath"
)

// Versions are the versions of Curator that Debian's packages have, the newest first. Bullseye's 2.7.1 is left out,
// because it was made for ZooKeeper 3.4.
var Versions = []string{"5.7.1", "5.4.0"}

// Suites are the suites of Debian that have the versions.
var Suites = map[string]string{"5.7.1": "trixie", "5.4.0": "bookworm"}

// Package is Debian's package of Curator.
const Package = "libcurator-recipes-java"

// Files are the jars of Curator, and of what it needs besides ZooKeeper, as Debian's packages name them.
var Files = []string{"curator-recipes.jar", "curator-framework.jar", "curator-client.jar", "guava.jar", "slf4j-api.jar"}

// Dir is where [Jars] looks for the files of a version, in the user's cache, whether or not they are there.
func Dir(version string) (string, error) {
	cache, err := os.UserCacheDir()
	return filepath.Join(cache, "locklab", "curator-"+version), err
}
