package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

const roleSwitch = "switch"

// bridge is what the nodes' network is called. It is in a network namespace of its own: where Docker runs, packets of
// bridges meet its firewall.
const bridge = "nodes"

// runSwitch is the first process of a cluster. It makes the network, starts the nodes, and ends when one of them does.
func runSwitch(dir string) error {
	c, err := load(dir)
	if err != nil {
		return err
	}
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := syscall.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return err
	}
	if err := ip("link set lo up", "link add "+bridge+" type bridge", "addr add "+bridgeAddress+" dev "+bridge,
		"link set "+bridge+" up"); err != nil {
		return err
	}
	ended := make(chan error)
	for n := 1; n <= c.Nodes; n++ {
		cmd, err := c.startNode(n)
		if err != nil {
			return err
		}
		go func() { ended <- fmt.Errorf("%s ended: %w", nodeName(n), cmd.Wait()) }()
	}
	return <-ended
}

// startNode starts the first process of a node and connects the node to the bridge.
func (c cluster) startNode(n int) (*exec.Cmd, error) {
	if err := os.Mkdir(filepath.Join(c.Dir, nodeName(n)), 0o755); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(c.Dir, nodeName(n), "node.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{"--net", "--mount", "--pid", "--uts", "--ipc", "--fork", "--kill-child", "--mount-proc"}
	if n > 1 && c.Skew != 0 {
		seconds := fmt.Sprint(int64(c.Skew.Seconds()))
		args = append(args, "--time", "--monotonic", seconds, "--boottime", seconds)
	}
	cmd := exec.Command("unshare", append(args, self, roleNode, c.Dir, fmt.Sprint(n))...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	var child string
	ctx, cancel := context.WithTimeout(context.Background(), startCap)
	defer cancel()
	if err := poll(ctx, func() error {
		children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", cmd.Process.Pid))
		child = strings.TrimSpace(string(children))
		if err == nil && child == "" {
			err = errors.New("it has no process yet")
		}
		return err
	}); err != nil {
		return nil, err
	}
	return cmd, ip("link add "+nodeName(n)+" type veth peer name "+nodeLink+" netns "+child,
		"link set "+nodeName(n)+" master "+bridge+" up")
}

// ip runs commands of the program ip, each given as one line.
func ip(lines ...string) error {
	for _, l := range lines {
		if out, err := exec.Command("ip", strings.Fields(l)...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %w: %s", l, err, out)
		}
	}
	return nil
}
