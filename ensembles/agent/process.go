package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"locklab/harness/history"
)

// ErrNoProcess answers a request for a process that is not there.
var ErrNoProcess = errors.New("the host's process is not running")

// errEnding answers a request to change a host whose agent is ending.
var errEnding = errors.New("the agent is ending")

// supervisor runs the host's one process and, being the host's first process,
// reaps every other that ends there.
type supervisor struct {
	root string
	rec  *history.Recorder

	mu      sync.Mutex
	status  Status
	spec    *Spec
	stdin   *os.File
	ending  bool
	changed chan struct{} // closed and replaced at each change of status
}

func newSupervisor(root string, rec *history.Recorder) *supervisor {
	return &supervisor{root: root, rec: rec, status: Status{State: "none"}, changed: make(chan struct{})}
}

// start runs spec, or the last one again if spec is nil.
func (s *supervisor) start(spec *Spec) (Stamp, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending {
		return Stamp{}, errEnding
	}
	if s.alive() {
		return Stamp{}, fmt.Errorf("start: process %d is still running", s.status.PID)
	}
	if spec == nil {
		spec = s.spec
	}
	if spec == nil {
		return Stamp{}, errors.New("start: nothing has been started on this host before")
	}
	if len(spec.Argv) == 0 {
		return Stamp{}, errors.New("start: no program is named")
	}
	dir := filepath.Join(s.root, filepath.Clean("/"+spec.Dir))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return Stamp{}, err
	}
	for name, content := range spec.Files {
		if !filepath.IsLocal(name) || name != filepath.Base(name) || name == "." {
			return Stamp{}, fmt.Errorf("start: %q is no plain file name", name)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			return Stamp{}, err
		}
	}
	if err := writeData(dir, spec.Data); err != nil {
		return Stamp{}, fmt.Errorf("start: %w", err)
	}
	env := childEnv(os.Environ())
	if spec.Clock {
		library, err := findClock(os.DirFS("/"))
		if err != nil {
			return Stamp{}, fmt.Errorf("start: %w", err)
		}
		if err := writeClock(s.root, s.status.ClockOffset); err != nil {
			return Stamp{}, fmt.Errorf("start: %w", err)
		}
		env = append(env, clockEnv(library, s.root)...)
	}
	argv, err := resolveArgv(spec)
	if err != nil {
		return Stamp{}, err
	}
	log, err := os.OpenFile(filepath.Join(dir, LogFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return Stamp{}, err
	}
	defer log.Close()
	in, stdin, err := os.Pipe()
	if err != nil {
		return Stamp{}, err
	}
	defer in.Close()
	p, err := os.StartProcess(argv[0], argv, &os.ProcAttr{Dir: dir, Env: env, Files: []*os.File{in, log, log},
		Sys: &syscall.SysProcAttr{Setpgid: true}})
	if err != nil {
		stdin.Close()
		return Stamp{}, err
	}
	if s.stdin != nil {
		s.stdin.Close()
	}
	pid := p.Pid
	p.Release() // the reaper waits for it, as for every process here
	s.spec, s.stdin = spec, stdin
	s.status.Starts++
	s.status.PID, s.status.Exit = pid, ""
	return s.set(history.ProcessStarted, ""), nil
}

// ownEnv begins the names of the variables that are for the agent.
const ownEnv = "LOCKLAB_"

// childEnv is the agent's environment without what is for the agent alone: the secret would let a process, or what that
// runs in its turn, do anything to any host of the lab.
func childEnv(own []string) []string {
	return slices.DeleteFunc(slices.Clone(own), func(v string) bool { return strings.HasPrefix(v, ownEnv) })
}

// writeData writes a process's first files, unless they are there.
func writeData(dir string, data map[string][]byte) error {
	if len(data) == 0 {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for name, content := range data {
		if _, err := root.Stat(name); err == nil {
			continue
		}
		if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := root.WriteFile(name, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// maxLine is how much a pipe takes whole or not at all (PIPE_BUF of Linux), so
// that no line is ever cut in two.
const maxLine = 4096

// inputWait is how long a line waits for room in the pipe. A process that is
// stopped does not read.
const inputWait = 2 * time.Second

// write sends a line to the process's standard input. It does not hold the lock
// while it waits for room: a process that does not read must not keep the others'
// requests from it, least of all the one to resume it.
func (s *supervisor) write(line string) (Stamp, error) {
	if strings.Contains(line, "\n") || len(line) >= maxLine {
		return Stamp{}, fmt.Errorf("input: not one line of less than %d bytes", maxLine)
	}
	s.mu.Lock()
	alive, stdin := s.alive(), s.stdin
	s.mu.Unlock()
	if !alive {
		return Stamp{}, ErrNoProcess
	}
	if err := stdin.SetWriteDeadline(time.Now().Add(inputWait)); err != nil {
		return Stamp{}, fmt.Errorf("input: %w", err)
	}
	if _, err := stdin.WriteString(line + "\n"); err != nil {
		return Stamp{}, fmt.Errorf("input: %w", err)
	}
	return Stamp{At: s.rec.Clock().Now()}, nil
}

// pause stops the process group and returns once every thread of it was seen stopped.
func (s *supervisor) pause(ctx context.Context) (Stamp, error) {
	return s.signalUntil(ctx, syscall.SIGSTOP, func(st Status, _ int64) bool { return st.State == history.ProcessStopped && groupStopped(st.PID) })
}

// resume continues the process group. A process that stops itself again at once
// may never be seen running; that its state has changed since is enough.
func (s *supervisor) resume(ctx context.Context) (Stamp, error) {
	return s.signalUntil(ctx, syscall.SIGCONT, func(st Status, told int64) bool {
		return st.State != history.ProcessStopped || st.Since > told
	})
}

// never is for signals after which only the process's end counts.
func never(Status, int64) bool { return false }

func (s *supervisor) kill(ctx context.Context) (Stamp, error) {
	return s.signalUntil(ctx, syscall.SIGKILL, never)
}

// end kills the process and lets no other be started.
func (s *supervisor) end(ctx context.Context) error {
	s.mu.Lock()
	s.ending = true
	s.mu.Unlock()
	_, err := s.kill(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stdin != nil {
		s.stdin.Close()
	}
	if errors.Is(err, ErrNoProcess) {
		return nil
	}
	return err
}

// stop asks the process to end, and kills it after its grace.
func (s *supervisor) stop(ctx context.Context) (Stamp, error) {
	s.mu.Lock()
	grace := 5 * time.Second
	if s.spec != nil && s.spec.Grace > 0 {
		grace = s.spec.Grace
	}
	s.mu.Unlock()
	soft, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	st, err := s.signalUntil(soft, syscall.SIGTERM, never)
	if err == nil || errors.Is(err, ErrNoProcess) {
		return st, err
	}
	st, err = s.signalUntil(ctx, syscall.SIGKILL, never)
	if errors.Is(err, ErrNoProcess) {
		return Stamp{At: s.rec.Clock().Now()}, nil // it ended between the two
	}
	return st, err
}

// signalUntil signals the process group and waits until its state is as wanted,
// given when the kernel was told. That is the stamp, not when the wait ended.
func (s *supervisor) signalUntil(ctx context.Context, sig syscall.Signal, done func(st Status, told int64) bool) (Stamp, error) {
	s.mu.Lock()
	if !s.alive() {
		s.mu.Unlock()
		return Stamp{}, ErrNoProcess
	}
	starts := s.status.Starts
	err := syscall.Kill(-s.status.PID, sig)
	at := s.rec.Clock().Now()
	if sig == syscall.SIGTERM && err == nil {
		err = syscall.Kill(-s.status.PID, syscall.SIGCONT) // a stopped process would hear of it when it goes on
	}
	s.mu.Unlock()
	if err != nil {
		return Stamp{}, fmt.Errorf("signal %v: %w", sig, err)
	}
	// A change of the process's state arrives on the channel; that each of its
	// threads has stopped can only be polled for.
	poll := time.NewTicker(2 * time.Millisecond)
	defer poll.Stop()
	for {
		st, changed := s.state()
		// The process may have ended meanwhile, and another may run by now.
		if st.Starts != starts || st.State == history.ProcessExited {
			if sig == syscall.SIGKILL || sig == syscall.SIGTERM {
				return Stamp{At: at}, nil
			}
			return Stamp{}, ErrNoProcess
		}
		if done(st, at) {
			return Stamp{At: at}, nil
		}
		select {
		case <-changed:
		case <-poll.C:
		case <-ctx.Done():
			return Stamp{}, fmt.Errorf("signal %v: process is still %s: %w", sig, st.State, context.Cause(ctx))
		}
	}
}

func (s *supervisor) state() (Status, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status, s.changed
}

// alive reports whether there is a process. s.mu is held.
func (s *supervisor) alive() bool {
	return s.status.State != "none" && s.status.State != history.ProcessExited
}

// set records a change of state. s.mu is held.
func (s *supervisor) set(state, detail string) Stamp {
	at := s.rec.Clock().Now()
	s.status.State, s.status.Since = state, at
	// A record that cannot be written is no reason to lose a process's state.
	_ = s.rec.Record(history.Event{At: at, Op: history.OpProcess, Mode: state, Value: int64(s.status.PID), Detail: detail})
	close(s.changed)
	s.changed = make(chan struct{})
	return Stamp{At: at}
}

// reap waits for children of any kind until ctx ends. Stops and continuations
// are seen too: a client that stops itself is noticed like one that was stopped.
func (s *supervisor) reap(ctx context.Context) {
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, syscall.SIGCHLD)
	defer signal.Stop(ch)
	for {
		s.reapAll()
		select {
		case <-ch:
		case <-ctx.Done():
			return
		}
	}
}

func (s *supervisor) reapAll() {
	// The lock is held over the wait, so that no child can be reaped between
	// its start and the note of its pid.
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, syscall.WNOHANG|syscall.WUNTRACED|syscall.WCONTINUED, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
		// That the process goes on is told once, and it may be told of a thread of it that is traced.
		if pid != s.status.PID && !(ws.Continued() && threadLives(s.status.PID, pid)) {
			continue
		}
		switch {
		case ws.Stopped():
			s.set(history.ProcessStopped, ws.StopSignal().String())
		case ws.Continued():
			s.set(history.ProcessContinued, "")
		case ws.Signaled():
			s.ended(ws.Signal().String())
		case ws.Exited():
			s.ended(fmt.Sprintf("exit status %d", ws.ExitStatus()))
		}
	}
}

// ended records the process's end. What it started ends with it, or it would meet
// the next process on the host. The group's number is not given away while it has
// members. s.mu is held.
func (s *supervisor) ended(how string) {
	_ = syscall.Kill(-s.status.PID, syscall.SIGKILL) // ESRCH: nothing was left
	s.status.Exit = how
	s.set(history.ProcessExited, how)
}

// groupStopped reports whether every process of a group is stopped: a client's lock
// may be in a process of its own.
func groupStopped(leader int) bool {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return false
	}
	for _, name := range stats {
		b, err := os.ReadFile(name)
		if err != nil {
			continue // it has just gone
		}
		after := string(b[strings.LastIndexByte(string(b), ')')+1:])
		var state string
		var parent, group, pid int
		if _, err := fmt.Sscan(after, &state, &parent, &group); err != nil || group != leader || state == "Z" {
			continue
		}
		if _, err := fmt.Sscan(string(b), &pid); err != nil || !allStopped(pid) {
			return false
		}
	}
	return allStopped(leader)
}

// allStopped reports whether every thread of the process is stopped. A main
// thread that has ended stays as a zombie while others live.
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
		case 'T', 't': // 't': held besides, see stall
			stopped++
		case 'Z':
		default:
			return false
		}
	}
	return stopped > 0
}

// stateOf returns the state letter of a /proc stat line: the first field after
// the parenthesised name, which may itself hold parentheses and spaces.
func stateOf(stat string) byte {
	for i := len(stat) - 1; i >= 0; i-- {
		if stat[i] == ')' && i+2 < len(stat) {
			return stat[i+2]
		}
	}
	return 0
}
