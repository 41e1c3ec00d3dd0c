package ensembles

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
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
