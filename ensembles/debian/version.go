package debian

import (
	"os"
	"path/filepath"
	"strings"
)

// A Version is a version of ZooKeeper that a suite of Debian has.
type Version struct {
	Number string // such as 3.9.3, by which it is named wherever an image or a directory can be named
	Suite  string
	Java   string // the package with the Java that it runs on
	// Keyring is the suite with the package of keys that Suite is signed with, if Debian 12 does not have them.
	Keyring string
}

// Versions are the versions that can be had, the default one first. Bullseye's 3.4.13 is left out: its jar does not
// name the jars that it needs, and the reader of transaction logs knows 3.5 and later.
var Versions = []Version{
	{Number: "3.9.3", Suite: "trixie", Java: "openjdk-21-jre-headless"},
	{Number: "3.8.0", Suite: "bookworm", Java: "openjdk-17-jre-headless"},
	{Number: "3.9.6", Suite: "forky", Java: "openjdk-21-jre-headless", Keyring: "trixie"},
}

// Default is the version that labs have unless they are told otherwise, and Fallback the one that they have where
// Default cannot be had.
var Default, Fallback = Versions[0], Versions[1]

// Find returns the version of a number; false if it cannot be had.
func Find(number string) (Version, bool) {
	for _, v := range Versions {
		if v.Number == number {
			return v, true
		}
	}
	return Version{}, false
}

// Numbers are the numbers of all versions, with commas, for messages.
func Numbers() string {
	var all []string
	for _, v := range Versions {
		all = append(all, v.Number)
	}
	return strings.Join(all, ", ")
}

// Image is the name of the container image of a version.
func (v Version) Image() string { return "locklab/zookeeper:" + v.Number }

// Dir is the directory of a version's jars in the user's cache, whether or not they are there.
func (v Version) Dir() (string, error) {
	cache, err := os.UserCacheDir()
	return filepath.Join(cache, "locklab", "zookeeper-"+v.Number), err
}
