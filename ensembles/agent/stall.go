package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"locklab/harness/history"
)

// diskThread begins the name of the one thread by which a ZooKeeper server writes and
// syncs its transaction log (SyncRequestProcessor).
const diskThread = "SyncThread:"

// A stall is a slow disk without a slow disk: it holds, by ptrace(2), the thread of the
// host's process that writes to the disk, and no other. The agent may trace its own child
// without any capability, where the machine's security modules let it.
//
// The thread is held only where it sleeps in the kernel, for work or for the disk. A JVM waits
// at its safepoints for threads that run, and would hold up every other one with this; it does not wait for one
// that sleeps or is outside of Java.
type stall struct {
	sup *supervisor

	mu     sync.Mutex
	ids    []string // the faults that want it
	starts int      // the process whose thread is held, by the count of starts
	free   func() error
}

// catchCap is how long it may take to find the thread asleep. It sleeps most of the time.
const catchCap = 3 * time.Second

// hold adds a fault that wants the thread held, and returns once it is.
func (s *stall) hold(ctx context.Context, id string) (Stamp, error) {
	if id == "" {
		return Stamp{}, errors.New("stall: an id is required")
	}
	ctx, cancel := context.WithTimeout(ctx, catchCap)
	defer cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	st, _ := s.sup.state()
	if st.PID == 0 || st.State == history.ProcessExited {
		return Stamp{}, ErrNoProcess
	}
	if s.free != nil && s.starts != st.Starts {
		_ = s.release() // the thread that was held has ended with its process
	}
	if s.free == nil {
		free, err := s.trace(ctx, st)
		if err != nil {
			return Stamp{}, fmt.Errorf("stall: %w", err)
		}
		s.free, s.starts = free, st.Starts
	}
	if !slices.Contains(s.ids, id) {
		s.ids = append(s.ids, id)
	}
	return Stamp{At: s.sup.rec.Clock().Now()}, nil
}

// let takes a fault away, the empty id all, and lets the thread go after the last.
func (s *stall) let(id string) (Stamp, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ids = slices.DeleteFunc(s.ids, func(i string) bool { return id == "" || i == id })
	var err error
	if len(s.ids) == 0 && s.free != nil {
		err = s.release()
	}
	return Stamp{At: s.sup.rec.Clock().Now()}, err
}

// release lets the thread go. s.mu is held.
func (s *stall) release() error {
	free := s.free
	s.free, s.ids = nil, nil
	return free()
}

// held lists the faults for which the thread of the present process is held.
func (s *stall) held() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st, _ := s.sup.state(); s.free == nil || st.Starts != s.starts || st.State == history.ProcessExited {
		return nil
	}
	return slices.Clone(s.ids)
}

// trace holds the threads of that name until free is called or the process ends. There may be several: of
// some versions of ZooKeeper, a server that changes its role leaves the last one's behind.
func (s *stall) trace(ctx context.Context, of Status) (free func() error, err error) {
	caught, quit, over := make(chan error, 1), make(chan struct{}), make(chan error, 1)
	go func() {
		// Every request about a traced thread has to come from the thread that traces it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		held := map[int]bool{}
		err := catchAll(ctx, of.PID, held)
		if err == nil && len(held) == 0 {
			err = fmt.Errorf("the process has no thread %s: it serves nobody now", diskThread)
		}
		caught <- err
		if err == nil {
			s.keep(of.PID, held, quit)
		}
		var errs []error
		for tid := range held {
			errs = append(errs, letGo(of.PID, tid))
		}
		over <- errors.Join(errs...)
	}()
	if err := <-caught; err != nil {
		return nil, errors.Join(err, <-over)
	}
	return func() error { close(quit); return <-over }, nil
}

// keep keeps threads held until quit is closed, and those that are begun meanwhile.
func (s *stall) keep(pid int, held map[int]bool, quit <-chan struct{}) {
	poll := time.NewTicker(2 * time.Millisecond)
	defer poll.Stop()
	const lookEvery = 25 // of the poll, for threads that are new
	for n := 1; ; n++ {
		for tid := range held {
			// A thread that only waits in its trap would keep its process from being stopped and
			// continued as a whole; one that listens there takes part, and falls back
			// into the trap each time. That it listens already is the usual answer.
			_ = listen(tid)
		}
		if n%lookEvery == 0 {
			ctx, cancel := context.WithTimeout(context.Background(), catchCap)
			_ = catchAll(ctx, pid, held) // one that is not caught now is tried again
			cancel()
		}
		select {
		case <-poll.C:
		case <-quit:
			return
		}
	}
}

// catchAll adds the threads that are not held yet to those that are.
func catchAll(ctx context.Context, pid int, held map[int]bool) error {
	tids, err := findThreads(pid, diskThread)
	for _, tid := range tids {
		if err != nil || held[tid] {
			continue
		}
		if err = catch(ctx, pid, tid); err == nil {
			held[tid] = true
		} else if !threadLives(pid, tid) {
			err = nil // it has just ended
		}
	}
	return err
}

// catch stops the thread at a moment at which it sleeps. It is called by the thread that traces.
func catch(ctx context.Context, pid, tid int) error {
	if err := unix.PtraceSeize(tid); err != nil {
		if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) {
			return fmt.Errorf("%w: %s: a child may not be traced here, by seccomp or kernel.yama.ptrace_scope: %w", ErrUnsupported, CapPtrace, err)
		}
		return fmt.Errorf("ptrace: %w", err)
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		if err := unix.PtraceInterrupt(tid); err != nil {
			return fmt.Errorf("ptrace: %w", err)
		}
		// What it did in the kernel is broken off there, and taken up again afterwards.
		for threadState(pid, tid) != 't' {
			if ctx.Err() != nil || !threadLives(pid, tid) {
				return errors.Join(fmt.Errorf("thread %d does not stop: %w", tid, context.Cause(ctx)), letGo(pid, tid))
			}
			<-tick.C
		}
		asleep, err := sleepsInKernel(pid, tid)
		switch {
		case asleep:
			return nil
		case err != nil || ctx.Err() != nil:
			return errors.Join(fmt.Errorf("thread %d is never asleep: %w", tid, errors.Join(err, context.Cause(ctx))), letGo(pid, tid))
		}
		if err := unix.PtraceCont(tid, 0); err != nil {
			return fmt.Errorf("ptrace: %w", err)
		}
		<-tick.C
	}
}

// listen tells a thread in its trap to go on waiting there, but to heed stops and
// continuations of its process.
func listen(tid int) error {
	if _, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_LISTEN, uintptr(tid), 0, 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// letGoCap bounds how long a thread that listens takes back into its trap, where it
// can be let go.
const letGoCap = 5 * time.Second

// letGo ends the tracing of a thread, which goes on. One that is over needs none.
func letGo(pid, tid int) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(letGoCap); ; <-tick.C {
		_ = unix.PtraceInterrupt(tid) // out of listening, into the trap
		err := unix.PtraceDetach(tid)
		if err == nil || !threadLives(pid, tid) {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("let thread %d go: %w", tid, err)
		}
	}
}

// findThreads returns the threads of a process whose names begin so.
func findThreads(pid int, name string) ([]int, error) {
	names, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/comm", pid))
	var tids []int
	for _, n := range names {
		if b, err := os.ReadFile(n); err == nil && strings.HasPrefix(string(b), name) {
			if tid, err := strconv.Atoi(filepath.Base(filepath.Dir(n))); err == nil {
				tids = append(tids, tid)
			}
		}
	}
	return tids, err
}

// threadState is the state letter of a thread; 0 if it is gone.
func threadState(pid, tid int) byte {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/stat", pid, tid))
	if err != nil {
		return 0
	}
	return stateOf(string(b))
}

func threadLives(pid, tid int) bool {
	return !strings.ContainsRune("\x00ZX", rune(threadState(pid, tid)))
}

// sleepers are the system calls in which a thread may be held: in a futex it waits
// for work, and in the others for the disk.
var sleepers = []int{unix.SYS_FUTEX, unix.SYS_FSYNC, unix.SYS_FDATASYNC}

// sleepsInKernel reports whether a stopped thread was stopped in one of those calls.
func sleepsInKernel(pid, tid int) (bool, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/syscall", pid, tid))
	if err != nil {
		return false, fmt.Errorf("%w: the kernel does not say what a thread does: %w", ErrUnsupported, err)
	}
	number, _, _ := strings.Cut(strings.TrimSpace(string(b)), " ")
	call, err := strconv.Atoi(number)
	return err == nil && slices.Contains(sleepers, call), nil // "running" is no call
}
