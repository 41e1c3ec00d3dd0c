package debian

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"locklab/ensembles/software"
	"locklab/harness/fail"
)

// EnvMirror is the environment variable that names the mirror to get packages from.
const EnvMirror = "LOCKLAB_DEBIAN_MIRROR"

// ErrMissingTool says that a program is missing that building a root needs.
var ErrMissingTool = fail.Environment.New("missing program")

// ErrUnavailable says that a suite cannot be had: it is not on the mirror, or its keys are not known.
var ErrUnavailable = fail.Environment.New("the packages cannot be had")

// Root makes a minimal root file system with Java, ZooKeeper, and libfaketime, which faults of a server's clock need,
// and passes read its tar. The tar counts only if Root returns nil: it may have ended early.
func (v Version) Root(ctx context.Context, read func(io.Reader) error) error {
	return v.within(ctx, func(options []string) error {
		// Java's package needs a directory that a minimal root leaves out.
		args := append([]string{"--variant=minbase", "--include=" + v.Java + ",zookeeper,libfaketime",
			"--setup-hook=mkdir -p \"$1/usr/share/man/man1\"", "--format=tar"}, options...)
		return debootstrap(ctx, read, append(args, v.Suite, "-")...)
	})
}

// Unpack gets the jars of a version into [Version.Dir], unless they are there, and returns that directory.
func (v Version) Unpack(ctx context.Context) (string, error) {
	dir, err := v.Dir()
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	err = v.within(ctx, func(options []string) error {
		return extract(ctx, v.Suite, "libzookeeper-java", options, func(root string) error {
			jars, err := software.Jars(os.DirFS(root), javaDir)
			if err != nil {
				return err
			}
			return copyFiles(root, jars, dir)
		})
	})
	return dir, err
}

// javaDir is the directory of a root into which Debian's packages install jars.
const javaDir = "usr/share/java"

// CopyJars gets jars of a suite's package, or of those that it depends on, into dir, which is made whole or not at all.
func CopyJars(ctx context.Context, suite, pkg string, jars []string, dir string) error {
	err := extract(ctx, suite, pkg, nil, func(root string) error {
		var paths []string
		for _, jar := range jars {
			paths = append(paths, filepath.Join(javaDir, jar))
		}
		return copyFiles(root, paths, dir)
	})
	if err != nil {
		return fmt.Errorf("%s from Debian's %s: %w", pkg, suite, err)
	}
	return nil
}

// within calls f with the options of mmdebstrap that a keyring needs, if one is needed.
func (v Version) within(ctx context.Context, f func(options []string) error) (err error) {
	if v.Keyring == "" {
		err = f(nil)
	} else {
		err = extract(ctx, v.Keyring, "debian-archive-keyring", nil, func(root string) error {
			// A suite that still moves tells for how long its list of packages is valid, and a mirror that is kept as it was
			// outlives that. The signature is checked all the same.
			return f([]string{"--keyring=" + filepath.Join(root, "usr/share/keyrings"),
				`--aptopt=Acquire::Check-Valid-Until "false"`})
		})
	}
	if err != nil {
		return fmt.Errorf("ZooKeeper %s from Debian's %s: %w", v.Number, v.Suite, err)
	}
	return nil
}

// extract unpacks a package and what it depends on into a directory that is there as long as f runs.
func extract(ctx context.Context, suite, pkg string, options []string, f func(root string) error) error {
	dir, err := os.MkdirTemp("", "locklab-debian-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	// Apt checks signatures as a user of its own, which has to read the keys in here.
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	root := filepath.Join(dir, "root")
	args := append([]string{"--variant=extract", "--include=" + pkg, "--format=directory"}, options...)
	nothing := func(out io.Reader) error {
		_, err := io.Copy(io.Discard, out)
		return err
	}
	if err := debootstrap(ctx, nothing, append(args, suite, root)...); err != nil {
		return err
	}
	return f(root)
}

// debootstrap runs mmdebstrap with some arguments and the mirror, and passes read what it writes.
func debootstrap(ctx context.Context, read func(io.Reader) error, args ...string) error {
	tool, err := exec.LookPath("mmdebstrap")
	if err != nil {
		return fmt.Errorf("%w: mmdebstrap; install it with: apt-get install mmdebstrap", ErrMissingTool)
	}
	if mirror := os.Getenv(EnvMirror); mirror != "" { // else the suite's default one is used
		args = append(args, mirror)
	}
	cmd := exec.CommandContext(ctx, tool, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it has a chroot to clean up
	cmd.WaitDelay = 30 * time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	readErr := read(out)
	if readErr != nil {
		_, _ = io.Copy(io.Discard, out) // so that the tool can end
	}
	if err := cmd.Wait(); err != nil {
		return errors.Join(fmt.Errorf("%w: mmdebstrap: %w: %s", ErrUnavailable, err, reason(stderr.String())), readErr)
	}
	return readErr
}

// reason returns the first error that a tool told, because others only follow from it, or its last line.
func reason(said string) string {
	lines := strings.Split(strings.TrimSpace(said), "\n")
	for _, line := range lines {
		if strings.HasPrefix(line, "E: ") {
			return line
		}
	}
	return lines[len(lines)-1]
}

// copyFiles copies files of a root to a directory, which is there whole or not at all.
func copyFiles(root string, paths []string, dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	unfinished, err := os.MkdirTemp(filepath.Dir(dir), filepath.Base(dir)+"-unfinished-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(unfinished)
	if err := os.Chmod(unfinished, 0o755); err != nil {
		return err
	}
	for _, name := range paths {
		content, err := os.ReadFile(filepath.Join(root, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(unfinished, filepath.Base(name)), content, 0o644)
		}
		if err != nil {
			return err
		}
	}
	return os.Rename(unfinished, dir)
}
