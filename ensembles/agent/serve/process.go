package serve

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

	"locklab/ensembles/agent"
	"locklab/harness/history"
)

// errEnding answers a request to change a host whose agent is ending.
var errEnding = errors.New("the agent is ending")

// supervisor runs the host's one process. Because the agent is the host's first process, the supervisor also reaps
// every other process that ends there.
type supervisor struct {
	root string
	rec  *history.Recorder

	mu     sync.Mutex
	status agent.Status
	spec   *agent.Spec
	stdin  *os.File
	ending bool
	// secrets are variables for the process alone, by which it reaches an ensemble that the lab did not start.
	secrets []string
	changed chan struct{} // closed and replaced at every change of status
}

func newSupervisor(root string, rec *history.Recorder) *supervisor {
	return &supervisor{root: root, rec: rec, status: agent.Status{State: history.ProcessNone},
		changed: make(chan struct{})}
}

// start runs spec, or the last spec again if spec is nil.
func (s *supervisor) start(spec *agent.Spec) (agent.Stamp, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending {
		return agent.Stamp{}, errEnding
	}
	if s.alive() {
		return agent.Stamp{}, fmt.Errorf("start: process %d is still running", s.status.PID)
	}
	if spec == nil {
		spec = s.spec
	}
	if spec == nil {
		return agent.Stamp{}, errors.New("start: no process has been started on this host before")
	}
	if len(spec.Argv) == 0 {
		return agent.Stamp{}, errors.New("start: the spec names no program")
	}
	dir := filepath.Join(s.root, filepath.Clean("/"+spec.Dir))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return agent.Stamp{}, err
	}
	for name, content := range spec.Files {
		if !filepath.IsLocal(name) || name != filepath.Base(name) || name == "." {
			return agent.Stamp{}, fmt.Errorf("start: %q is not a plain file name", name)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			return agent.Stamp{}, err
		}
	}
	if err := writeData(dir, spec.Data); err != nil {
		return agent.Stamp{}, fmt.Errorf("start: %w", err)
	}
	env := slices.Concat(childEnv(os.Environ()), spec.Env, s.secrets)
	if spec.Clock {
		library, err := findClock(os.DirFS("/"))
		if err != nil {
			return agent.Stamp{}, fmt.Errorf("start: %w", err)
		}
		if err := writeClock(s.root, s.status.ClockOffset); err != nil {
			return agent.Stamp{}, fmt.Errorf("start: %w", err)
		}
		env = append(env, clockEnv(library, s.root)...)
	}
	argv, err := resolveArgv(spec)
	if err != nil {
		return agent.Stamp{}, err
	}
	log, err := os.OpenFile(filepath.Join(dir, agent.LogFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return agent.Stamp{}, err
	}
	defer log.Close()
	in, stdin, err := os.Pipe()
	if err != nil {
		return agent.Stamp{}, err
	}
	defer in.Close()
	// Linux divides the processors between sessions (sched_autogroup). In a session that it shared with the harness and
	// all agents of a machine, a client would be scheduled late beside servers that have one each.
	p, err := os.StartProcess(argv[0], argv, &os.ProcAttr{Dir: dir, Env: env, Files: []*os.File{in, log, log},
		Sys: &syscall.SysProcAttr{Setsid: true}})
	if err != nil {
		stdin.Close()
		return agent.Stamp{}, err
	}
	if s.stdin != nil {
		s.stdin.Close()
	}
	pid := p.Pid
	p.Release() // the reaper waits for it, as for every process of the host
	s.spec, s.stdin = spec, stdin
	s.status.Starts++
	s.status.PID, s.status.Exit = pid, ""
	return s.set(history.ProcessStarted, ""), nil
}

// ownEnv is the prefix of the variables that are meant for the agent alone.
const ownEnv = "LOCKLAB_"

// childEnv returns the agent's environment without the variables that are meant for the agent alone. With the secret, a
// process or any program that it runs could do anything to any host of the lab.
func childEnv(own []string) []string {
	return slices.DeleteFunc(slices.Clone(own), func(v string) bool { return strings.HasPrefix(v, ownEnv) })
}

// writeData writes a process's first files, except those that exist.
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

// maxLine is Linux's PIPE_BUF: a pipe takes so much whole or not at all, so no line is cut in two.
const maxLine = 4096

// inputWait is how long a line waits for room in the pipe. A stopped process does not read.
const inputWait = 2 * time.Second

// write sends a line to the process's standard input. It does not hold the mutex while it waits for room, because a
// process that does not read must not block other requests, least of all the one to resume it.
func (s *supervisor) write(line string) (agent.Stamp, error) {
	if strings.Contains(line, "\n") || len(line) >= maxLine {
		return agent.Stamp{}, fmt.Errorf("input: want one line of less than %d bytes", maxLine)
	}
	s.mu.Lock()
	alive, stdin := s.alive(), s.stdin
	s.mu.Unlock()
	if !alive {
		return agent.Stamp{}, agent.ErrNoProcess
	}
	if err := stdin.SetWriteDeadline(time.Now().Add(inputWait)); err != nil {
		return agent.Stamp{}, fmt.Errorf("input: %w", err)
	}
	if _, err := stdin.WriteString(line + "\n"); err != nil {
		return agent.Stamp{}, fmt.Errorf("input: %w", err)
	}
	return agent.Stamp{At: s.rec.Clock().Now()}, nil
}

// pause stops the process group and returns when every thread of it was seen stopped.
func (s *supervisor) pause(ctx context.Context) (agent.Stamp, error) {
	return s.signalUntil(ctx, syscall.SIGSTOP, func(st agent.Status, _ int64) bool {
		return st.State == history.ProcessStopped && groupStopped(st.PID)
	})
}

// resume continues the process group. A process that stops itself again at once may never be seen running, so a change
// of its state since the signal is enough.
func (s *supervisor) resume(ctx context.Context) (agent.Stamp, error) {
	return s.signalUntil(ctx, syscall.SIGCONT, func(st agent.Status, signalled int64) bool {
		return st.State != history.ProcessStopped || st.Since > signalled
	})
}

// never is the condition for signals that only the process's end completes.
func never(agent.Status, int64) bool { return false }

func (s *supervisor) kill(ctx context.Context) (agent.Stamp, error) {
	return s.signalUntil(ctx, syscall.SIGKILL, never)
}

// end kills the process and prevents new ones.
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
	if errors.Is(err, agent.ErrNoProcess) {
		return nil
	}
	return err
}

// stop asks the process to end, and kills it when its grace is over.
func (s *supervisor) stop(ctx context.Context) (agent.Stamp, error) {
	s.mu.Lock()
	grace := 5 * time.Second
	if s.spec != nil && s.spec.Grace > 0 {
		grace = s.spec.Grace
	}
	s.mu.Unlock()
	soft, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	st, err := s.signalUntil(soft, syscall.SIGTERM, never)
	if err == nil || errors.Is(err, agent.ErrNoProcess) {
		return st, err
	}
	st, err = s.signalUntil(ctx, syscall.SIGKILL, never)
	if errors.Is(err, agent.ErrNoProcess) {
		return agent.Stamp{At: s.rec.Clock().Now()}, nil // it ended between the two
	}
	return st, err
}

// signalUntil signals the process group and waits until done reports that the signal has taken effect. done gets the
// status and the time of the signal. The stamp is the time of the signal, not the end of the wait.
func (s *supervisor) signalUntil(
	ctx context.Context, sig syscall.Signal, done func(st agent.Status, signalled int64) bool) (agent.Stamp, error) {
	s.mu.Lock()
	if !s.alive() {
		s.mu.Unlock()
		return agent.Stamp{}, agent.ErrNoProcess
	}
	starts := s.status.Starts
	err := syscall.Kill(-s.status.PID, sig)
	at := s.rec.Clock().Now()
	if sig == syscall.SIGTERM && err == nil {
		err = syscall.Kill(-s.status.PID, syscall.SIGCONT) // a stopped process would get the signal only when it is continued
	}
	s.mu.Unlock()
	if err != nil {
		return agent.Stamp{}, fmt.Errorf("signal %v: %w", sig, err)
	}
	// A change of the process's state arrives on the channel. Whether each of its threads has stopped must be polled.
	poll := time.NewTicker(2 * time.Millisecond)
	defer poll.Stop()
	freed := false
	for {
		st, changed := s.state()
		// The process may have ended meanwhile, and another may be running.
		if st.Starts != starts || st.State == history.ProcessExited {
			if sig == syscall.SIGKILL || sig == syscall.SIGTERM {
				return agent.Stamp{At: at}, nil
			}
			return agent.Stamp{}, agent.ErrNoProcess
		}
		if done(st, at) {
			return agent.Stamp{At: at}, nil
		}
		if sig == syscall.SIGSTOP {
			freed = stopVforked(st.PID, freed)
		}
		select {
		case <-changed:
		case <-poll.C:
		case <-ctx.Done():
			return agent.Stamp{}, fmt.Errorf("signal %v: process is still %s: %w", sig, st.State, context.Cause(ctx))
		}
	}
}

// stopVforked helps a group to stop of which one process waits in vfork for another. It lets the children go on, which
// frees their parents, and stops the group again when it is called the next time. It reports whether it freed any.
func stopVforked(leader int, freed bool) bool {
	if freed {
		_ = syscall.Kill(-leader, syscall.SIGSTOP) // if it has ended, its status says so
		return false
	}
	for _, child := range stoppedInVfork(leader) {
		freed = syscall.Kill(child, syscall.SIGCONT) == nil || freed
	}
	return freed
}

func (s *supervisor) state() (agent.Status, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status, s.changed
}

// alive reports whether there is a process. s.mu is held.
func (s *supervisor) alive() bool {
	return s.status.State != history.ProcessNone && s.status.State != history.ProcessExited
}

// set records a change of state. s.mu is held.
func (s *supervisor) set(state history.ProcessState, detail string) agent.Stamp {
	at := s.rec.Clock().Now()
	s.status.State, s.status.Since = state, at
	// The state is kept even if it cannot be recorded.
	e := history.ProcessChange{State: state, PID: s.status.PID, Detail: detail}.Event()
	e.At = at
	_ = s.rec.Record(e)
	close(s.changed)
	s.changed = make(chan struct{})
	return agent.Stamp{At: at}
}

// reap waits for children of any kind until ctx ends. It also sees stops and continuations, so it notices a client that
// stops itself as well as one that was stopped.
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
	// The mutex is held during the wait, so that no child is reaped between its start and the record of its pid.
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
		// The kernel reports only once that the process continues, and may report it for a thread that is traced.
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

// ended records the process's end and kills what it started, which would otherwise meet the next process on the host.
// The kernel does not reuse the group's number while the group has members. s.mu is held.
func (s *supervisor) ended(how string) {
	_ = syscall.Kill(-s.status.PID, syscall.SIGKILL) // ESRCH means that nothing was left
	s.status.Exit = how
	s.set(history.ProcessExited, how)
}
