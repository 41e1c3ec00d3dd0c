package labtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A process is one that the host sees, those in containers among them.
type process struct {
	// id is its number, when it began (in clock ticks since boot) and its name: another one has another.
	id     string
	parent int
	// text is its command line, and where it belongs.
	text string
	// state is what a fault might change of one that goes on: whether it is stopped, its niceness, its
	// namespaces, what it may do.
	state string
}

// processChanges lists processes that were changed, and those that are new and bear a mark or are this process's children.
func processChanges(before, now []process, marks []string) []string {
	was := map[string]process{}
	for _, p := range before {
		was[p.id] = p
	}
	var all []string
	for _, p := range now {
		old, there := was[p.id]
		switch {
		case there && old.state != p.state:
			all = append(all, fmt.Sprintf("! process %s: %s, was %s", p.id, p.state, old.state))
		case !there && p.parent == os.Getpid():
			all = append(all, fmt.Sprintf("+ process %s: %s", p.id, p.text))
		case !there && slices.ContainsFunc(marks, func(m string) bool { return m != "" && strings.Contains(p.text, m) }):
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
		if errors.Is(err, os.ErrNotExist) || err != nil && strings.Contains(err.Error(), "no such process") {
			continue // it has ended
		}
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

func readProcess(dir string) (process, error) {
	stat, err := os.ReadFile(dir + "/stat")
	if err != nil {
		return process{}, err
	}
	// The name is in brackets and may have any in itself.
	open, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	fields := strings.Fields(string(stat[end+1:]))
	if open < 0 || len(fields) < 20 {
		return process{}, fmt.Errorf("%s/stat: %q", dir, stat)
	}
	const state, parent, nice, began = 0, 1, 16, 19
	p := process{id: fmt.Sprintf("%s%s began %s", stat[:open], stat[open+1:end], fields[began])}
	if p.parent, err = strconv.Atoi(fields[parent]); err != nil {
		return p, err
	}
	command, err := os.ReadFile(dir + "/cmdline")
	if err != nil {
		return p, err
	}
	group, err := os.ReadFile(dir + "/cgroup")
	if err != nil {
		return p, err
	}
	p.text = strings.ReplaceAll(string(command), "\x00", " ") + string(group)
	if fields[state] == "Z" {
		return p, os.ErrNotExist // it has ended, and its parent has not asked how
	}
	stopped := fields[state] == "T" || fields[state] == "t"
	p.state = fmt.Sprintf("stopped %v, nice %s", stopped, fields[nice])
	for _, ns := range []string{"net", "pid", "mnt", "ipc", "user"} {
		// Another user's cannot be read.
		if name, err := os.Readlink(dir + "/ns/" + ns); err == nil {
			p.state += ", " + name
		}
	}
	return p, nil
}

// abandonedNamespaces names the network namespaces that Docker keeps for no container that runs. Where Docker's cannot be
// seen there are none.
func abandonedNamespaces(ctx context.Context) ([]string, error) {
	var running []struct{ Id string }
	if err := ask(ctx, "/containers/json", &running); err != nil {
		return nil, err
	}
	used := map[string]bool{}
	for _, c := range running {
		var whole struct{ NetworkSettings struct{ SandboxKey string } }
		err := ask(ctx, "/containers/"+c.Id+"/json", &whole)
		if err != nil && !strings.Contains(err.Error(), "404") { // it has ended
			return nil, err
		}
		used[filepath.Base(whole.NetworkSettings.SandboxKey)] = true
	}
	// Docker removes the files under its namespaces' mounts only now and then.
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	var all []string
	for line := range strings.Lines(string(mounts)) {
		fields := strings.Fields(line)
		if point := fields[4]; strings.Contains(point, "/docker/netns/") && !used[filepath.Base(point)] {
			all = append(all, filepath.Base(point))
		}
	}
	return all, nil
}
