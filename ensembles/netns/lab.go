package netns

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// A setup is the first message to the lab process.
type setup struct {
	ID string `json:"id"`
	// Dir is the directory for the data of hosts with a disk. The lab process removes it.
	Dir string `json:"dir"`
	// Binary is the locklab binary that hosts run.
	Binary string `json:"binary"`
}

// inherited is the number of the first inherited file.
const inherited = 3

// program is the name under which a lab's processes run, so that they can be told from those of other labs.
func program(lab string) string { return "locklab-" + lab }

const bridgeName = "lab"

// RunLab is the lab process. It starts hosts as it is asked to, and ends with its input.
func RunLab(in io.Reader, out io.Writer) error {
	requests, answers := json.NewDecoder(in), json.NewEncoder(out)
	var s setup
	if err := requests.Decode(&s); err != nil {
		return fmt.Errorf("netns-lab: %w; lab processes are started by a run, not by hand", err)
	}
	// Each host gets its own sockets and nothing else that this process has inherited.
	if err := unix.CloseRange(inherited, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("keep inherited files from hosts: %w", err)
	}
	held, err := lockDir(s.Dir)
	if err != nil {
		return err
	}
	defer held.Close()
	defer os.RemoveAll(s.Dir)
	l := &labProcess{setup: s}
	defer l.end()
	if err := makeBridge(); err != nil {
		return err
	}
	if err := answers.Encode(answer{}); err != nil {
		return err
	}
	for {
		var r request
		if err := requests.Decode(&r); err != nil {
			return nil // the harness has closed the lab, or has ended
		}
		var a answer
		if err := l.start(r); err != nil {
			a.Error = err.Error()
		}
		if err := answers.Encode(a); err != nil {
			return err
		}
	}
}

func makeBridge() error {
	bridge := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: bridgeName}}
	if err := netlink.LinkAdd(bridge); err != nil {
		return fmt.Errorf("make a bridge: %w", err)
	}
	return netlink.LinkSetUp(bridge)
}

// A labProcess is the state of the lab process.
type labProcess struct {
	setup setup
	hosts []*exec.Cmd
	ended sync.WaitGroup
}

// start starts a host and gives it its link.
func (l *labProcess) start(r request) error {
	control, published := os.NewFile(uintptr(r.Control), "control"), (*os.File)(nil)
	defer control.Close()
	files := []*os.File{control}
	if r.Published != 0 {
		published = os.NewFile(uintptr(r.Published), "published")
		defer published.Close()
		files = append(files, published)
	}
	r.Host.Lab, r.Host.Binary, r.Host.Publish = l.setup.ID, l.setup.Binary, r.Published != 0
	if r.Host.Disk {
		r.Host.Dir = filepath.Join(l.setup.Dir, r.Host.Name)
		if err := os.Mkdir(r.Host.Dir, 0o755); err != nil {
			return err
		}
	}
	cmd := &exec.Cmd{Path: l.setup.Binary, Args: []string{program(l.setup.ID), "netns-host"}, Stderr: os.Stderr,
		Env: os.Environ(), ExtraFiles: files, SysProcAttr: &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET |
			syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS}}
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	defer in.Close()
	if err := cmd.Start(); err != nil {
		return err
	}
	l.hosts = append(l.hosts, cmd)
	l.ended.Go(func() { _ = cmd.Wait() }) // agents end in many ways, and the harness asks them
	if err := link(len(l.hosts), cmd.Process.Pid); err != nil {
		return fmt.Errorf("make the host's link: %w", err)
	}
	return json.NewEncoder(in).Encode(r.Host)
}

// link connects a host, whose first process has that id, to the bridge.
func link(n, pid int) error {
	bridge, err := netlink.LinkByName(bridgeName)
	if err != nil {
		return err
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MasterIndex = fmt.Sprintf("host%d", n), bridge.Attrs().Index
	pair := &netlink.Veth{LinkAttrs: attrs, PeerName: linkName, PeerNamespace: netlink.NsPid(pid)}
	if err := netlink.LinkAdd(pair); err != nil {
		return err
	}
	return netlink.LinkSetUp(pair)
}

// end kills the hosts. With the first process of a host, the kernel kills all others of it.
func (l *labProcess) end() {
	for _, h := range l.hosts {
		if err := h.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	l.ended.Wait()
}
