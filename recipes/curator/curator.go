package curator

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// EnvJars names the jars of a Curator other than Debian's, or folders of such jars, separated by colons. ZooKeeper's
// own jars need not be among them.
const EnvJars = "LOCKLAB_CURATOR_JARS"

// ErrMissing says that Curator, or the compiler for its driver, is missing.
var ErrMissing = errors.New("no Curator can be run here")

const howToGet = "get it with: make curator, or as root: " +
	"apt-get install libcurator-recipes-java openjdk-17-jdk-headless"

// zooKeeperFiles are jars for the compiler; a host has its own.
var zooKeeperFiles = []string{"zookeeper.jar", "zookeeper-jute.jar"}

//go:embed *.java logback.xml
var sources embed.FS

// Main is the driver's main class. Its argument is one of the recipes.
const Main = "locklab.curator.Main"

// Loop is the main class of Curator's mutex, read/write lock and semaphore in a closed loop, without the protocol; see
// Loop.java for its arguments and its record.
const Loop = "locklab.curator.Loop"

// Revocation is the main class of both sides of Curator's revocation; see Revocation.java.
const Revocation = "locklab.curator.Revocation"

// Election is the main class of a candidate of Curator's elections; see Election.java.
const Election = "locklab.curator.Election"

// JavaOptions are the options of the driver's JVM: a small heap, because there may be many JVMs.
var JavaOptions = []string{"-Xmx256m", "-XX:+UseSerialGC"}

// Jars returns the jars that a Java with ZooKeeper needs to run a version of Curator, or any version if it is empty. It
// takes those that LOCKLAB_CURATOR_JARS names, then those in [Dir], the newest version first, and then those that
// Debian's packages installed.
func Jars(version string) ([]string, error) {
	own, err := named()
	if err != nil {
		return nil, err
	}
	places := [][]string{own}
	for _, v := range Versions {
		if dir, err := Dir(v); err == nil { // without a home directory, nothing can have been unpacked
			places = append(places, existing(dir, Files))
		}
	}
	for _, jars := range append(places, existing(debianJars, Files)) {
		if len(jars) == 0 {
			continue
		}
		if version == "" {
			return jars, nil
		}
		is, err := Version(jars)
		if err != nil {
			return nil, err
		}
		if is == version {
			return jars, nil
		}
	}
	if version != "" {
		return nil, fmt.Errorf("%w: there is no version %s of it; get it with: locklab curator %s", ErrMissing, version,
			version)
	}
	return nil, fmt.Errorf("%w: there is none in %s; %s", ErrMissing, debianJars, howToGet)
}

// named returns the jars that LOCKLAB_CURATOR_JARS names, if it is set.
func named() (jars []string, err error) {
	places := filepath.SplitList(os.Getenv(EnvJars))
	for _, place := range places {
		st, err := os.Stat(place)
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrMissing, EnvJars, err)
		}
		if !st.IsDir() {
			jars = append(jars, place)
			continue
		}
		in, err := filepath.Glob(filepath.Join(place, "*.jar"))
		if err != nil {
			return nil, err
		}
		jars = append(jars, in...)
	}
	if len(places) > 0 && len(jars) == 0 {
		return nil, fmt.Errorf("%w: %s names no jars", ErrMissing, EnvJars)
	}
	return jars, nil
}

const debianJars = "/usr/share/java"

// existing returns the paths of files in a directory; none if one of them is not there.
func existing(dir string, names []string) (paths []string) {
	for _, name := range names {
		p := filepath.Join(dir, name)
		if _, err := os.Stat(p); err != nil {
			return nil
		}
		paths = append(paths, p)
	}
	return paths
}

// Compiled returns the jars of [Jars], and after them that of the driver, which it compiles into dir.
func Compiled(ctx context.Context, version, dir string) ([]string, error) {
	jars, err := Jars(version)
	if err != nil {
		return nil, err
	}
	driver, err := Build(ctx, dir, jars)
	return append(jars, driver), err
}

// Build compiles the driver against the jars into a jar in dir, unless that jar exists already, and returns its path.
func Build(ctx context.Context, dir string, jars []string) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	names, err := fs.Glob(sources, "*.java")
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	fmt.Fprintln(sum, jars)
	for _, name := range append(names, logConfig) {
		b, err := sources.ReadFile(name)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(sum, name, len(b))
		sum.Write(b)
	}
	jar := filepath.Join(dir, "curator-driver-"+hex.EncodeToString(sum.Sum(nil)[:6])+".jar")
	if _, err := os.Stat(jar); err == nil {
		return jar, nil
	}
	work, err := os.MkdirTemp(dir, "curator-*")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	content, err := compile(ctx, work, names, jars)
	if err != nil {
		return "", err
	}
	part := filepath.Join(work, "driver.jar")
	if err := os.WriteFile(part, content, 0o644); err != nil {
		return "", err
	}
	return jar, os.Rename(part, jar) // another process may have written the same jar first
}

// logConfig stops a Curator that logs through logback from logging everything.
const logConfig = "logback.xml"

func compile(ctx context.Context, work string, names, jars []string) ([]byte, error) {
	javac, err := exec.LookPath("javac")
	if err != nil {
		return nil, fmt.Errorf("%w: no javac; %s", ErrMissing, howToGet)
	}
	path := slices.Concat(jars, existing(debianJars, zooKeeperFiles))
	classes := filepath.Join(work, "classes")
	args := []string{"-nowarn", "-proc:none", "--release", "11", "-cp", strings.Join(path, ":"), "-d", classes}
	for _, name := range names {
		b, err := sources.ReadFile(name)
		if err != nil {
			return nil, err
		}
		source := filepath.Join(work, name)
		if err := os.WriteFile(source, b, 0o644); err != nil {
			return nil, err
		}
		args = append(args, source)
	}
	if out, err := exec.CommandContext(ctx, javac, args...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("compile the driver of Curator: %w:\n%s", err, out)
	}
	var jar bytes.Buffer
	w := zip.NewWriter(&jar)
	if err := w.AddFS(os.DirFS(classes)); err != nil {
		return nil, err
	}
	b, err := sources.ReadFile(logConfig)
	if err != nil {
		return nil, err
	}
	f, err := w.Create(logConfig)
	if err != nil {
		return nil, err
	}
	if _, err := f.Write(b); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return jar.Bytes(), nil
}
