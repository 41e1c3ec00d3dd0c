package serve

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"locklab/ensembles/agent"
	"locklab/ensembles/software"
)

// A member is a process of a process group.
type member struct{ pid, parent int }

// membersOf lists the processes of a group that have not ended.
func membersOf(leader int) []member {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // only a malformed pattern is an error
	var all []member
	for _, name := range stats {
		b, err := os.ReadFile(name)
		if err != nil {
			continue // it has just ended
		}
		after := string(b[strings.LastIndexByte(string(b), ')')+1:])
		var m member
		var state string
		var group int
		if _, err := fmt.Sscan(after, &state, &m.parent, &group); err != nil || group != leader || state == "Z" {
			continue
		}
		if _, err := fmt.Sscan(string(b), &m.pid); err == nil {
			all = append(all, m)
		}
	}
	return all
}

// processorTime returns how much of the processors a process and those of its group that still live have used. The
// time of their children that ended is included once a parent has waited for them.
func processorTime(leader int) (time.Duration, error) {
	var all time.Duration
	for _, m := range membersOf(leader) {
		used, err := timeOf(m.pid)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ESRCH):
			// It has just ended.
		case err != nil:
			return 0, err
		}
		all += used
	}
	return all, nil
}

// timeOf returns how much of the processors a process has used, with its children that it has waited for.
func timeOf(pid int) (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The state is the third field; the times of the process and of its children are the 14th to the 17th.
	fields := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	if len(fields) < 15 {
		return 0, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields)+2)
	}
	var ticks int64
	for _, field := range fields[11:15] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("/proc/%d/stat: %w", pid, err)
		}
		ticks += n
	}
	return time.Duration(ticks) * agent.ProcessorTick, nil
}

// groupStopped reports whether every process of a group is stopped. A client's lock may run in a process of its own.
func groupStopped(leader int) bool {
	for _, m := range membersOf(leader) {
		if !allStopped(m.pid) {
			return false
		}
	}
	return allStopped(leader)
}

// stoppedInVfork lists the processes of a group that are stopped while a parent in the group may wait for them in
// vfork(2). Such a parent cannot be stopped: it waits in the kernel until its child has executed a program or ended,
// and a stopped child does neither.
func stoppedInVfork(leader int) (children []int) {
	all := membersOf(leader)
	for _, m := range all {
		waits := func(p member) bool { return p.pid == m.parent && hasThreadIn(p.pid, 'D') }
		if slices.ContainsFunc(all, waits) && allStopped(m.pid) {
			children = append(children, m.pid)
		}
	}
	return children
}

// hasThreadIn reports whether a thread of the process is in that state.
func hasThreadIn(pid int, state byte) bool {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	return slices.ContainsFunc(tasks, func(t string) bool {
		b, err := os.ReadFile(t)
		return err == nil && stateOf(string(b)) == state
	})
}

// allStopped reports whether every thread of the process is stopped. A main thread that has ended stays as a zombie
// while others live.
func allStopped(pid int) bool {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil {
		return false
	}
	stopped := 0
	for _, t := range tasks {
		b, err := os.ReadFile(t)
		if err != nil {
			return false
		}
		switch stateOf(string(b)) {
		case 'T', 't': // 't' is a thread that a stall holds
			stopped++
		case 'Z':
		default:
			return false
		}
	}
	return stopped > 0
}

// stateOf returns the state letter of a /proc stat line: the first field after the name in parentheses, which may
// itself contain parentheses and spaces.
func stateOf(stat string) byte {
	for i := len(stat) - 1; i >= 0; i-- {
		if stat[i] == ')' && i+2 < len(stat) {
			return stat[i+2]
		}
	}
	return 0
}

// findThreads returns the threads of a process whose names have a prefix.
func findThreads(pid int, prefix string) ([]int, error) {
	names, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/comm", pid))
	var tids []int
	for _, n := range names {
		if b, err := os.ReadFile(n); err == nil && strings.HasPrefix(string(b), prefix) {
			if tid, err := strconv.Atoi(filepath.Base(filepath.Dir(n))); err == nil {
				tids = append(tids, tid)
			}
		}
	}
	return tids, err
}

// threadState returns the state letter of a thread, or 0 if it has ended.
func threadState(pid, tid int) byte {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/stat", pid, tid))
	if err != nil {
		return 0
	}
	return stateOf(string(b))
}

// threadLives reports whether a thread exists and has not ended.
func threadLives(pid, tid int) bool {
	return !strings.ContainsRune("\x00ZX", rune(threadState(pid, tid)))
}

// CommandLine resolves a program and its arguments on this host, as [agent.Spec] says of Argv. If classes is not empty,
// Java's class path has classes first and the image's ZooKeeper jars after them.
func CommandLine(argv []string, classes string) ([]string, error) {
	argv, err := resolveArgv(&agent.Spec{Argv: argv, ZooKeeper: classes != ""})
	if err == nil && classes != "" {
		argv[2] = classes + ":" + argv[2]
	}
	return argv, err
}

// resolveArgv resolves a spec's program on this host.
func resolveArgv(spec *agent.Spec) ([]string, error) {
	argv := slices.Clone(spec.Argv)
	switch argv[0] {
	case "locklab":
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		argv[0] = self
	case "java":
		l, err := software.Find(os.DirFS("/"), os.Getenv("JAVA_HOME"), cmp.Or(spec.Home, os.Getenv("ZOOKEEPER_HOME")))
		if err != nil {
			return nil, fmt.Errorf("start: %w", err)
		}
		argv[0] = l.Java
		if spec.ZooKeeper {
			// The working directory comes first, because Debian's jar finds its log4j configuration on the class path.
			argv = slices.Insert(argv, 1, "-cp", strings.Join(append([]string{"."}, l.ClassPath...), ":"))
		}
	}
	return argv, nil
}
