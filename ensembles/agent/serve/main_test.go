package serve

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"locklab/ensembles/agent"
	"locklab/harness/history"
)

// An agent waits for every child of its process, so the agents under test run in processes of their own. These
// processes, and those that the agents start, run this test binary.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if role, ok := roles[os.Args[1]]; ok {
			role(os.Args[2:])
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

var roles = map[string]func(args []string){
	"role-agent":    func(args []string) { roleAgent(args[0], args[1]) },
	"role-sleep":    func([]string) { wait() },
	"role-env":      func([]string) { say(strings.Join(os.Environ(), "\t")) },
	"role-fail":     func([]string) { os.Exit(3) },
	"role-stubborn": func([]string) { signal.Ignore(syscall.SIGTERM); say("ready"); wait() },
	// role-stops-itself stops itself for every line that it reads.
	"role-stops-itself": func([]string) {
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			say("stopping")
			syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		}
	},
	"role-echo": func([]string) {
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			say(in.Text())
		}
	},
	// role-disk prints tick from the thread that a stall holds, and tock from another.
	"role-disk": func([]string) {
		var disk func()
		disk = func() {
			runtime.LockOSThread()
			if unix.Gettid() == unix.Getpid() {
				go disk() // a server's disk thread is never the main thread
				select {}
			}
			name, _ := unix.BytePtrFromString(diskThread + "1")
			if err := unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(name)), 0, 0, 0); err != nil {
				panic(err)
			}
			for {
				futexSleep(time.Millisecond)
				say("tick")
			}
		}
		go disk()
		for {
			time.Sleep(time.Millisecond)
			say("tock")
		}
	},
	// role-parent starts another process in its group. It then waits or, with an argument, ends.
	"role-parent": func(args []string) {
		child := exec.Command(os.Args[0], "role-sleep")
		if err := child.Start(); err != nil {
			panic(err)
		}
		say(fmt.Sprint(child.Process.Pid))
		if len(args) == 0 {
			wait()
		}
	},
	// role-parent-of-work starts a process in its group that works all the time, and waits.
	"role-parent-of-work": func([]string) {
		if err := exec.Command(os.Args[0], "role-work").Start(); err != nil {
			panic(err)
		}
		wait()
	},
	"role-work": func([]string) {
		//lint:ignore SA5002 it is to use a processor
		for {
		}
	},
	// role-forks starts one process after another.
	"role-forks": func([]string) {
		for first := true; ; first = false {
			if err := exec.Command(os.Args[0], "role-orphan-end").Run(); err != nil {
				panic(err)
			}
			if first {
				say("ready")
			}
		}
	},
	// role-orphan leaves a child behind that ends at once, for the agent to reap.
	"role-orphan": func([]string) {
		child := exec.Command(os.Args[0], "role-orphan-end")
		child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := child.Start(); err != nil {
			panic(err)
		}
		say(fmt.Sprint(child.Process.Pid))
	},
	"role-orphan-end": func([]string) {},
	// role-recorder records as many events of 4,000 bytes as its argument says, if it has one, and then an event for
	// each line that it reads.
	"role-recorder": func(args []string) {
		rec, err := history.NewRecorder(agent.ProcessHistoryDir, "c1", history.NewClock())
		if err != nil {
			panic(err)
		}
		if len(args) > 0 {
			n, err := strconv.Atoi(args[0])
			if err != nil {
				panic(err)
			}
			for range n {
				if err := rec.Record(history.Event{Op: "line", Detail: strings.Repeat("x", 4000)}); err != nil {
					panic(err)
				}
			}
		}
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			if err := rec.Record(history.Event{Op: "line", Detail: in.Text()}); err != nil {
				panic(err)
			}
		}
	},
}

// futexSleep sleeps in a futex, as the idle threads of a JVM do.
func futexSleep(d time.Duration) {
	var word uint32
	ts := unix.NsecToTimespec(int64(d))
	const wait = 0 // FUTEX_WAIT
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&word)), wait, 0, uintptr(unsafe.Pointer(&ts)), 0, 0)
}

func say(line string) { fmt.Println(line) }

func wait() { time.Sleep(long) }

// roleAgent serves until it is interrupted or its lease lapses, prints that it ends, and checks that no goroutine is
// left.
func roleAgent(root, lease string) {
	length, err := time.ParseDuration(lease)
	if err != nil {
		panic(err)
	}
	// Orphans of the host's process become children of the agent, as in a container.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		panic(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err = Run(ctx, Config{Host: "h1", Secret: "s3cret", Lease: length, Root: root, Listen: "127.0.0.1:0",
		Listening: func(a net.Addr) { say(a.String()) }, Log: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	stop()
	signal.Reset()
	if err == nil {
		// The HTTP server waits 0.5 s after a body that was too large.
		err = goleak.Find(goleak.IgnoreTopFunction("os/signal.loop"), goleak.IgnoreTopFunction("os/signal.signal_recv"),
			goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "agent under test:", err)
		os.Exit(1)
	}
}

// A host is a directory with an agent.
type host struct {
	*agent.Client
	t       *testing.T
	root    string
	address string
	cmd     *exec.Cmd
}

// start runs an agent for the test. A test that is not about the lease passes a long one.
func start(t *testing.T, lease time.Duration) *host {
	t.Helper()
	h := &host{t: t, root: t.TempDir()}
	h.cmd = exec.Command(os.Args[0], "role-agent", h.root, lease.String())
	// A container's agent has these variables too.
	h.cmd.Env = append(os.Environ(), agent.EnvHost+"=h1", agent.EnvSecret+"=s3cret", agent.EnvLease+"=1h")
	h.cmd.Stderr = t.Output()
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the agent printed no address: %v", err)
	}
	h.address = strings.TrimSpace(line)
	h.Client = agent.NewClient("h1", h.address, "s3cret")
	t.Cleanup(func() {
		h.Client.Close()
		if h.cmd.ProcessState == nil {
			_ = h.cmd.Process.Signal(os.Interrupt)
			h.ends()
		}
	})
	return h
}

const long = time.Hour

// ends waits for the agent to end, and checks that it ends without an error.
func (h *host) ends() {
	h.t.Helper()
	if err := h.cmd.Wait(); err != nil {
		h.t.Errorf("agent ended: %v", err)
	}
}

// run starts a role of this binary as the host's process.
func (h *host) run(argv ...string) agent.Stamp {
	h.t.Helper()
	st, err := h.Start(h.t.Context(), agent.Spec{Argv: append([]string{"locklab"}, argv...), Dir: "p",
		Grace: 200 * time.Millisecond})
	if err != nil {
		h.t.Fatal(err)
	}
	return st
}

// status returns the host's status.
func (h *host) status() agent.Status {
	h.t.Helper()
	st, err := h.Status(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	return st
}

// is waits until the host's process is in a state.
func (h *host) is(state history.ProcessState) agent.Status {
	h.t.Helper()
	var st agent.Status
	eventually(h.t, "process "+string(state), func() bool { st = h.status(); return st.State == state })
	return st
}

// log waits until the process has printed a number of lines, and returns its log.
func (h *host) log(lines int) []string {
	h.t.Helper()
	var said []string
	eventually(h.t, fmt.Sprintf("%d lines of log", lines), func() bool {
		b, err := os.ReadFile(filepath.Join(h.root, "p", agent.LogFile))
		said = strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
		return err == nil && strings.Count(string(b), "\n") >= lines
	})
	return said
}

// events reads the agent's own history.
func (h *host) events() []history.Event {
	h.t.Helper()
	r, err := h.History(h.t.Context(), agent.HistoryRequest{Dir: agent.HistoryDir})
	if err != nil {
		h.t.Fatal(err)
	}
	return h.decode(r)
}

func (h *host) decode(r io.ReadCloser) []history.Event {
	h.t.Helper()
	defer r.Close()
	raw, err := io.ReadAll(r)
	if err != nil {
		h.t.Fatal(err)
	}
	events, rest, err := history.Decode(nil, raw, map[string]string{})
	if err != nil || len(rest) > 0 {
		h.t.Fatalf("history: %v, %d bytes left over", err, len(rest))
	}
	return events
}

// eventually waits for a condition. The limit is long because the machine may be busy.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("timed out waiting for %s", what)
		}
	}
}

// lives reports whether a process exists and is not a zombie.
func lives(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && stateOf(string(b)) != 'Z'
}
