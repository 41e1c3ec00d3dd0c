package docker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"locklab/ensembles"
	"locklab/harness/fail"
)

// ErrMissingTool says that a program is missing that building the image needs.
var ErrMissingTool = fail.Environment.New("missing program")

// buildDebian streams a minimal Debian root with Java and ZooKeeper into the engine.
func buildDebian(ctx context.Context, e *engine) error {
	tool, err := exec.LookPath("mmdebstrap")
	if err != nil {
		return fmt.Errorf("%w: mmdebstrap; install it with: apt-get install mmdebstrap", ErrMissingTool)
	}
	// Java's package needs a directory that a minimal root leaves out. Without a mirror, the suite's default one is used.
	args := []string{"--variant=minbase", "--include=openjdk-17-jre-headless,zookeeper,libfaketime",
		"--setup-hook=mkdir -p \"$1/usr/share/man/man1\"", "--format=tar", "bookworm", "-"}
	if mirror := os.Getenv(EnvDebianMirror); mirror != "" {
		args = append(args, mirror)
	}
	cmd := exec.CommandContext(ctx, tool, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it has a chroot to clean up
	cmd.WaitDelay = 30 * time.Second
	root, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	// The image gets its name only after the tool has succeeded: a root that ends early must not be used.
	const unfinished = "locklab/zookeeper:unfinished"
	importErr := e.importRoot(ctx, root, unfinished, "LABEL "+labelImage+"=base")
	if importErr != nil {
		_, _ = io.Copy(io.Discard, root) // so that the tool can end
	}
	if err := cmd.Wait(); err != nil {
		err = fmt.Errorf("mmdebstrap: %w:\n%s", err, ensembles.LastLines(stderr.String(), 20))
		return errors.Join(err, importErr, e.removeImage(ctx, unfinished))
	}
	if importErr != nil {
		return importErr
	}
	return errors.Join(e.tag(ctx, unfinished, DebianImage), e.removeImage(ctx, unfinished))
}
