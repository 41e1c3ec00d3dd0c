package serve

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"locklab/ensembles/agent"
	"locklab/harness/history"
)

// diskThread is the prefix of the name of the one thread with which a ZooKeeper server writes and syncs its transaction
// log (SyncRequestProcessor).
const diskThread = "SyncThread:"

// A stall imitates a disk that hangs: with ptrace(2) it holds the thread of the host's process that writes to the disk,
// and no other thread. The agent may trace its own child without any capability, unless the machine's security modules
// forbid it.
//
// The thread is held only while it sleeps in the kernel, where it waits for work or for the disk. At a safepoint a JVM
// waits for the threads that run Java code, so a thread that was held while it ran would hold up all others. The JVM
// does not wait for a thread that sleeps or is outside of Java.
type stall struct {
	sup *supervisor

	mu     sync.Mutex
	ids    []string // the faults for which the thread is held
	starts int      // the process whose thread is held, by its number of starts
	free   func() error
}

// catchCap is how long the agent tries to find the thread asleep. The thread sleeps most of the time.
const catchCap = 3 * time.Second

// hold holds the thread for a fault, and returns when the thread is held.
func (s *stall) hold(ctx context.Context, id string) (agent.Stamp, error) {
	if id == "" {
		return agent.Stamp{}, errors.New("stall: an id is required")
	}
	ctx, cancel := context.WithTimeout(ctx, catchCap)
	defer cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	st, _ := s.sup.state()
	if st.PID == 0 || st.State == history.ProcessExited {
		return agent.Stamp{}, agent.ErrNoProcess
	}
	if s.free != nil && s.starts != st.Starts {
		_ = s.release() // the thread that was held has ended with its process
	}
	if s.free == nil {
		free, err := s.trace(ctx, st)
		if err != nil {
			return agent.Stamp{}, fmt.Errorf("stall: %w", err)
		}
		s.free, s.starts = free, st.Starts
	}
	if !slices.Contains(s.ids, id) {
		s.ids = append(s.ids, id)
	}
	return agent.Stamp{At: s.sup.rec.Clock().Now()}, nil
}

// lift ends the stall of a fault, or all stalls if the id is empty. The thread continues after the last.
func (s *stall) lift(id string) (agent.Stamp, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ids = slices.DeleteFunc(s.ids, func(i string) bool { return id == "" || i == id })
	var err error
	if len(s.ids) == 0 && s.free != nil {
		err = s.release()
	}
	return agent.Stamp{At: s.sup.rec.Clock().Now()}, err
}

// release lets the thread continue. s.mu is held.
func (s *stall) release() error {
	free := s.free
	s.free, s.ids = nil, nil
	return free()
}

// held lists the faults for which the thread of the current process is held.
func (s *stall) held() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st, _ := s.sup.state(); s.free == nil || st.Starts != s.starts || st.State == history.ProcessExited {
		return nil
	}
	return slices.Clone(s.ids)
}

// trace holds the process's disk threads until free is called or the process ends. There may be several: in some
// versions of ZooKeeper, a server that changes its role leaves the thread of its last role behind.
func (s *stall) trace(ctx context.Context, of agent.Status) (free func() error, err error) {
	caught, quit, over := make(chan error, 1), make(chan struct{}), make(chan error, 1)
	go func() {
		// The kernel accepts requests about a traced thread only from the thread that traces it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		held := map[int]bool{}
		err := catchAll(ctx, of.PID, held)
		if err == nil && len(held) == 0 {
			err = fmt.Errorf("the process has no thread named %s, so it is not serving now", diskThread)
		}
		caught <- err
		if err == nil {
			s.keep(of.PID, held, quit)
		}
		var errs []error
		for tid := range held {
			errs = append(errs, detach(of.PID, tid))
		}
		over <- errors.Join(errs...)
	}()
	if err := <-caught; err != nil {
		return nil, errors.Join(err, <-over)
	}
	return func() error { close(quit); return <-over }, nil
}

// keep holds the threads until quit is closed. It also catches disk threads that start meanwhile.
func (s *stall) keep(pid int, held map[int]bool, quit <-chan struct{}) {
	poll := time.NewTicker(2 * time.Millisecond)
	defer poll.Stop()
	const lookEvery = 25 // polls between two looks for new threads
	for n := 1; ; n++ {
		for tid := range held {
			// A thread that only waits in its trap would prevent its process from being stopped and continued as a
			// whole. A thread that listens there takes part, and falls back into the trap each time. Most calls fail,
			// because the thread listens already.
			_ = listen(tid)
		}
		if n%lookEvery == 0 {
			ctx, cancel := context.WithTimeout(context.Background(), catchCap)
			_ = catchAll(ctx, pid, held) // a thread that is not caught now is tried again
			cancel()
		}
		select {
		case <-poll.C:
		case <-quit:
			return
		}
	}
}

// catchAll catches the disk threads that are not held yet and adds them to those that are.
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

// catch stops a thread while it sleeps. Only the thread that traces calls it.
func catch(ctx context.Context, pid, tid int) error {
	if err := unix.PtraceSeize(tid); err != nil {
		if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) {
			return fmt.Errorf("%w: %s: seccomp or kernel.yama.ptrace_scope does not allow a parent to trace its child: %w",
				agent.ErrUnsupported, agent.CapPtrace, err)
		}
		return fmt.Errorf("ptrace: %w", err)
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		if err := unix.PtraceInterrupt(tid); err != nil {
			return fmt.Errorf("ptrace: %w", err)
		}
		// The interrupt breaks off the thread's system call, which is restarted afterwards.
		for threadState(pid, tid) != 't' {
			if ctx.Err() != nil || !threadLives(pid, tid) {
				return errors.Join(fmt.Errorf("thread %d does not stop: %w", tid, context.Cause(ctx)), detach(pid, tid))
			}
			<-tick.C
		}
		asleep, err := sleepsInKernel(pid, tid)
		switch {
		case asleep:
			return nil
		case err != nil || ctx.Err() != nil:
			err = fmt.Errorf("thread %d was never seen asleep: %w", tid, errors.Join(err, context.Cause(ctx)))
			return errors.Join(err, detach(pid, tid))
		}
		if err := unix.PtraceCont(tid, 0); err != nil {
			return fmt.Errorf("ptrace: %w", err)
		}
		<-tick.C
	}
}

// listen makes a thread in its trap wait there and take part in stops and continuations of its process.
func listen(tid int) error {
	if _, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_LISTEN, uintptr(tid), 0, 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// detachCap is how long a thread that listens may take to return into its trap, where it can be detached.
const detachCap = 5 * time.Second

// detach ends the tracing of a thread, which then continues. For a thread that has ended, there is nothing to do.
func detach(pid, tid int) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(detachCap); ; <-tick.C {
		_ = unix.PtraceInterrupt(tid) // out of listening, into the trap
		err := unix.PtraceDetach(tid)
		if err == nil || !threadLives(pid, tid) {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("detach from thread %d: %w", tid, err)
		}
	}
}

// sleepers are the system calls in which a thread may be held. In a futex it waits for work, in the others for the
// disk.
var sleepers = []int{unix.SYS_FUTEX, unix.SYS_FSYNC, unix.SYS_FDATASYNC}

// sleepsInKernel reports whether a stopped thread was stopped in one of the sleepers.
func sleepsInKernel(pid, tid int) (bool, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/syscall", pid, tid))
	if err != nil {
		return false, fmt.Errorf("%w: the kernel does not show a thread's system call: %w", agent.ErrUnsupported, err)
	}
	number, _, _ := strings.Cut(strings.TrimSpace(string(b)), " ")
	call, err := strconv.Atoi(number)
	return err == nil && slices.Contains(sleepers, call), nil // err is for "running", which is not a number
}
