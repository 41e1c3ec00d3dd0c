package ensembles

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
)

// A Child is a process of this machine that ends when its standard input does. The kernel closes that input with the
// harness, however the harness ends, so a child learns of it at once.
type Child struct {
	// Input is the child's standard input, Output its standard output.
	Input  io.WriteCloser
	Output io.ReadCloser

	process *os.Process
	ended   chan struct{}
	err     error // how it ended, once ended is closed
}

// StartChild starts a command as a child, in a process group of its own: an interrupt from the terminal is for the
// harness alone. The command must not have a standard input or output.
func StartChild(cmd *exec.Cmd) (*Child, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	// A pipe of exec's own would be closed by Wait, perhaps before the last of the output has been read.
	out, stdout, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer stdout.Close()
	cmd.Stdout = stdout
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, errors.Join(err, out.Close())
	}
	c := &Child{Input: in, Output: out, process: cmd.Process, ended: make(chan struct{})}
	go func() {
		c.err = cmd.Wait()
		close(c.ended)
	}()
	return c, nil
}

// Close ends the child's input and waits until the child has ended. If ctx ends first, Close kills the child.
func (c *Child) Close(ctx context.Context) error {
	defer c.Output.Close()
	c.Input.Close()
	select {
	case <-c.ended:
		return c.err
	case <-ctx.Done():
		err := c.process.Kill()
		<-c.ended
		return errors.Join(context.Cause(ctx), err, c.err)
	}
}

// CheckBinary returns an error if the file is not a program that can run in an empty root.
func CheckBinary(path string) error {
	f, err := elf.Open(path)
	if err != nil {
		return fmt.Errorf("binary for the lab's hosts: %w", err)
	}
	defer f.Close()
	if slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		return fmt.Errorf("binary %s is dynamically linked and cannot run in an empty image; build it with: make build", path)
	}
	return nil
}

// Environ returns the variables of this process's environment with those names, for a child that is to have no others.
func Environ(names ...string) []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return !slices.Contains(names, name)
	})
}

// ListenFile opens a socket that listens on an address, for a child to inherit. The caller closes the file.
func ListenFile(ctx context.Context, on netip.Addr) (*os.File, netip.AddrPort, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", netip.AddrPortFrom(on, 0).String())
	if err != nil {
		return nil, netip.AddrPort{}, err
	}
	defer l.Close()
	f, err := l.(*net.TCPListener).File()
	if err != nil {
		return nil, netip.AddrPort{}, err
	}
	return f, l.Addr().(*net.TCPAddr).AddrPort(), nil
}
