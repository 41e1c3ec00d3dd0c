package netns

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"locklab/ensembles"
	"locklab/ensembles/agent"
)

// binaryPath is where hosts have the binary.
const binaryPath = "/locklab"

// newRoot is where the host process makes its root before it enters it. No host needs this machine's /sys.
const newRoot = "/sys"

// shared are the directories of this machine that hosts see and cannot change. They have programs, Java and ZooKeeper.
var shared = []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/usr", "/etc", "/opt"}

// devices are the devices that hosts have.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// enterRoot makes a root for the host and enters it. Mounts that are made here are seen by this host only, and go with
// it.
func (h *host) enterRoot() error {
	steps := []struct {
		what string
		do   func() error
	}{
		{"make the mounts private", func() error { return unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "") }},
		{"make a root", func() error { return unix.Mount("tmpfs", newRoot, "tmpfs", 0, "mode=755") }},
		{"share the machine's files", h.shareFiles},
		{"share devices", func() error { return bindFiles(devices) }},
		{"make /tmp", func() error { return os.MkdirAll(newRoot+"/tmp", 0o777|os.ModeSticky) }},
		{"make " + agent.DataDir, h.makeDataDir},
		{"copy files", h.copyFiles},
		{"name the hosts", h.nameHosts},
		{"mount /proc", func() error {
			if err := os.Mkdir(newRoot+"/proc", 0o755); err != nil {
				return err
			}
			return unix.Mount("proc", newRoot+"/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
		}},
		{"enter the root", enter},
	}
	for _, s := range steps {
		if err := s.do(); err != nil {
			return fmt.Errorf("%s: %w", s.what, err)
		}
	}
	return nil
}

// hidden returns the directory of a host's own in which a directory of this machine would be lost; empty if there is
// none.
func hidden(dir string) string {
	for _, own := range []string{agent.DataDir, newRoot, "/proc", "/dev"} {
		if dir == own || strings.HasPrefix(dir, own+"/") {
			return own
		}
	}
	return ""
}

// shareFiles binds the shared directories, with those of a Java and a ZooKeeper that the environment names, and those
// of the host's versions of ZooKeeper.
func (h *host) shareFiles() error {
	dirs := slices.Clone(shared)
	for _, home := range append([]string{os.Getenv("JAVA_HOME"), os.Getenv("ZOOKEEPER_HOME")}, h.Homes...) {
		within := func(dir string) bool { return home == dir || strings.HasPrefix(home, dir+"/") }
		if home != "" && !slices.ContainsFunc(dirs, within) {
			dirs = append(dirs, filepath.Clean(home))
		}
	}
	for _, dir := range dirs {
		st, err := os.Lstat(dir)
		switch {
		case os.IsNotExist(err):
			continue
		case err != nil:
			return err
		case st.Mode()&os.ModeSymlink != 0: // such as /bin, which leads to /usr/bin
			target, err := os.Readlink(dir)
			if err != nil {
				return err
			}
			if err := os.Symlink(target, newRoot+dir); err != nil {
				return err
			}
			continue
		}
		if err := os.MkdirAll(newRoot+dir, 0o755); err != nil {
			return err
		}
		if err := bindReadOnly(dir, newRoot+dir); err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
	}
	return nil
}

// bindReadOnly makes a file or directory appear at another place, where nothing below it can be changed.
func bindReadOnly(from, to string) error {
	if err := unix.Mount(from, to, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return err
	}
	attr := &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	return unix.MountSetattr(unix.AT_FDCWD, to, unix.AT_RECURSIVE, attr)
}

// bindFiles makes files of this machine appear at the same paths of the root.
func bindFiles(paths []string) error {
	for _, p := range paths {
		if err := writeFile(newRoot+p, strings.NewReader(""), 0o644); err != nil {
			return err
		}
		if err := unix.Mount(p, newRoot+p, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	return nil
}

// makeDataDir makes the directory to which the host writes: a directory on the machine's disk, or memory.
func (h *host) makeDataDir() error {
	to := newRoot + agent.DataDir
	if err := os.Mkdir(to, 0o755); err != nil {
		return err
	}
	if h.Disk {
		return unix.Mount(h.Dir, to, "", unix.MS_BIND, "")
	}
	return unix.Mount("tmpfs", to, "tmpfs", 0, "mode=755")
}

// copyFiles copies the binary and the files that the host was to get.
func (h *host) copyFiles() error {
	for _, f := range append([]ensembles.File{{Source: h.Binary, Target: binaryPath, Executable: true}}, h.Files...) {
		mode := os.FileMode(0o644)
		if f.Executable {
			mode = 0o755
		}
		from, err := os.Open(f.Source)
		if err != nil {
			return err
		}
		err = writeFile(newRoot+f.Target, from, mode)
		from.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// nameHosts covers the machine's /etc/hosts. Nothing leads out of the lab's network, so no other name can be resolved.
func (h *host) nameHosts() error {
	const own = newRoot + "/hosts"
	if err := writeFile(own, strings.NewReader(h.hostsFile()), 0o644); err != nil {
		return err
	}
	return bindReadOnly(own, newRoot+"/etc/hosts")
}

// enter makes newRoot the root, and takes away the machine's.
func enter() error {
	if err := os.Chdir(newRoot); err != nil {
		return err
	}
	// The machine's root is put on top of the new one, and is then removed: pivot_root(2), "pivot_root(".", ".")".
	if err := unix.PivotRoot(".", "."); err != nil {
		return err
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return err
	}
	return os.Chdir("/")
}

func writeFile(path string, content io.Reader, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	if _, err := io.Copy(f, content); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
