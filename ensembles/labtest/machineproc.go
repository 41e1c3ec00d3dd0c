package labtest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// A process is one that the host sees, including those in containers.
type process struct {
	// id is the process's number, its name, and when it began in clock ticks since boot. No two processes share one.
	id     string
	parent int
	// text is the command line and the control group.
	text string
	// state is what a fault might change: whether the process is stopped, how nice it is, and its namespaces.
	state string
	// network is the process's network namespace, or "" if it cannot be read.
	network string
}

// processChanges lists processes that changed, and new processes that have a mark or are children of this one.
func processChanges(before, now []process, marks []string) []string {
	was := map[string]process{}
	for _, p := range before {
		was[p.id] = p
	}
	var all []string
	for _, p := range now {
		marked := func(m string) bool { return m != "" && strings.Contains(p.text, m) }
		old, there := was[p.id]
		switch {
		case there && old.state != p.state:
			all = append(all, fmt.Sprintf("! process %s: %s, was %s", p.id, p.state, old.state))
		case !there && (p.parent == os.Getpid() || slices.ContainsFunc(marks, marked)):
			all = append(all, fmt.Sprintf("+ process %s: %s", p.id, p.text))
		}
	}
	return all
}

func readProcesses() ([]process, error) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	var all []process
	for _, dir := range dirs {
		p, err := readProcess(dir)
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // it has ended
		}
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

func readProcess(dir string) (p process, err error) {
	var files [3][]byte
	for i, name := range []string{"stat", "cmdline", "cgroup"} {
		if files[i], err = os.ReadFile(path.Join(dir, name)); err != nil {
			return p, err
		}
	}
	// The name is in parentheses and may contain some itself.
	number, rest, _ := bytes.Cut(files[0], []byte(" ("))
	end := bytes.LastIndexByte(rest, ')')
	fields := strings.Fields(string(rest[end+1:]))
	const state, parent, nice, began = 0, 1, 16, 19
	if end < 0 || len(fields) <= began {
		return p, fmt.Errorf("%s/stat: %q", dir, files[0])
	}
	if fields[state] == "Z" {
		return p, os.ErrNotExist // it has ended, and its parent has not waited for it
	}
	p.id = fmt.Sprintf("%s %s began %s", number, rest[:end], fields[began])
	p.text = strings.ReplaceAll(string(files[1]), "\x00", " ") + string(files[2])
	p.state = fmt.Sprintf("stopped %v, nice %s", strings.ContainsAny(fields[state], "Tt"), fields[nice])
	for _, kind := range []string{"net", "pid", "mnt", "ipc", "user"} {
		// Another user's namespaces cannot be read.
		if name, err := os.Readlink(path.Join(dir, "ns", kind)); err == nil {
			p.state += ", " + name
			if kind == "net" {
				p.network = name
			}
		}
	}
	p.parent, err = strconv.Atoi(fields[parent])
	return p, err
}

// emptyNamespaces names the network namespaces that Docker keeps mounted although none of the processes is in them. The
// mounts are the text of /proc/self/mountinfo: Docker removes the files under its mounts only now and then.
func emptyNamespaces(mounts string, all []process) []string {
	used := map[string]bool{}
	for _, p := range all {
		used[p.network] = true
	}
	var empty []string
	for line := range strings.Lines(mounts) {
		fields := strings.Fields(line) // number, parent, device, the namespace itself, where it is mounted
		if name, mount := fields[3], fields[4]; strings.Contains(mount, "/docker/netns/") && !used[name] {
			empty = append(empty, filepath.Base(mount)+" "+name)
		}
	}
	return empty
}
