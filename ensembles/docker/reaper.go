package docker

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"locklab/ensembles"
)

// A reaper is a process beside the harness that removes a lab when the harness ends without having done so. Leases
// would remove the containers that run, but only the reaper removes what has none: a container that was created and
// not started, and the network. If the reaper is killed as well, the next run or Clean removes those.
type reaper struct{ child *ensembles.Child }

const (
	// reaperReady is the line by which a reaper says that it reaches the engine.
	reaperReady = "ready"
	// labRemoved is the line that tells a reaper that the harness has removed the lab.
	labRemoved = "removed"
)

// startReaper starts the reaper of a lab. Nothing of the lab may be made before startReaper has returned.
func startReaper(ctx context.Context, binary, lab string) (*reaper, error) {
	var complaint strings.Builder
	child, err := ensembles.StartChild(&exec.Cmd{Path: binary, Args: []string{"locklab-" + lab, "docker-reaper", lab},
		Stderr: &complaint})
	if err != nil {
		return nil, fmt.Errorf("start the lab's reaper: %w", err)
	}
	r := &reaper{child}
	// A read of the pipe does not end with ctx.
	stop := context.AfterFunc(ctx, func() { child.Output.Close() })
	defer stop()
	if said, _ := bufio.NewReader(child.Output).ReadString('\n'); said != reaperReady+"\n" {
		err := r.end(ctx, true)
		return nil, fmt.Errorf("start the lab's reaper: it ended (%w) and said: %s%s", err, said, complaint.String())
	}
	return r, nil
}

// end ends the reaper. If the lab has not been removed, the reaper goes on to do so, and end does not wait for it.
func (r *reaper) end(ctx context.Context, removed bool) error {
	if !removed {
		return r.child.Input.Close()
	}
	_, _ = fmt.Fprintln(r.child.Input, labRemoved) // if it has been killed, Close says so
	return r.child.Close(ctx)
}

const (
	// quiet is how long nothing of a lab must have been seen before a reaper ends. The engine completes what the
	// harness asked it for last, even if the harness has ended since.
	quiet = 10 * time.Second
	// reapCap bounds how long a reaper tries.
	reapCap = 2 * time.Minute
)

// RunReaper is the reaper's process. It waits for the end of its input, which is also that of the harness, and removes
// the lab unless it has been told that the harness has done so.
func RunReaper(ctx context.Context, in io.Reader, out io.Writer, lab string) error {
	e, err := openEngine(ctx)
	if err != nil {
		return err
	}
	defer e.close()
	if _, err := fmt.Fprintln(out, reaperReady); err != nil {
		return err
	}
	if said, err := io.ReadAll(in); len(said) > 0 || err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, reapCap)
	defer cancel()
	seen := time.Now()
	return ensembles.Poll(ctx, 200*time.Millisecond, "lab "+lab+" to be gone", func() error {
		all, err := e.owned(ctx, lab)
		if err == nil && len(all) == 0 && time.Since(seen) >= quiet {
			return nil
		}
		if err != nil || len(all) > 0 {
			seen = time.Now()
		}
		// A container that was made meanwhile keeps the network from being removed, until the next look.
		round, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		_ = removeAll(round, e, all)
		return fmt.Errorf("%d containers and networks are left: %w", len(all), err)
	})
}
