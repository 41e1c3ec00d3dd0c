package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/harness/rundir"
	"locklab/harness/watch"
)

// A collector streams the histories of a run's hosts into the run directory as they are written, and feeds their
// events to a view of the run.
type collector struct {
	dir  string // the run directory
	view *watch.View

	streams sync.WaitGroup
	mu      sync.Mutex
	errs    []error
}

// A stream is one history of one host.
type stream struct {
	host   *ensembles.Host
	dir    string // on the host
	file   string // in the host's folder of the run directory
	offset int64  // where the run begins in it
}

// follow appends the stream to its file until the process has ended or ctx ends. It connects again when a connection
// breaks and then asks only for what has not arrived yet.
func (c *collector) follow(ctx context.Context, s stream) error {
	f, err := rundir.CreateHostFile(c.dir, s.host.Name, s.file)
	if err != nil {
		return err
	}
	c.streams.Go(func() {
		err := c.copy(ctx, s, f)
		if err = errors.Join(err, f.Close()); err != nil {
			c.mu.Lock()
			c.errs = append(c.errs, fmt.Errorf("history of %s: %w", s.host.Name, err))
			c.mu.Unlock()
		}
	})
	return nil
}

// finalCap bounds the last read of a history after its context has ended.
const finalCap = 10 * time.Second

func (c *collector) copy(ctx context.Context, s stream, f *os.File) error {
	feed := c.view.Feed()
	at := s.offset
	failures := 0
	for {
		n, err := c.read(ctx, s, at, true, f, feed)
		at += n
		if err == nil {
			return nil // the process has ended, and its whole history has arrived
		}
		if ctx.Err() != nil {
			break
		}
		const patience = 50 // times 100 ms, after which the agent is given up
		if failures++; n > 0 {
			failures = 0
		}
		if failures > patience {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
	// The run is over, so what has been written by now is the rest.
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), finalCap)
	defer cancel()
	_, err := c.read(last, s, at, false, f, feed)
	return err
}

// read copies a history from an offset on and returns how many bytes arrived.
func (c *collector) read(
	ctx context.Context, s stream, offset int64, follow bool, f *os.File, feed io.Writer,
) (int64, error) {
	r, err := s.host.Agent.History(ctx, s.dir, offset, follow)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	return io.Copy(io.MultiWriter(f, feed), r)
}

// wait waits for all streams to end.
func (c *collector) wait() error {
	c.streams.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	return errors.Join(c.errs...)
}

// fetch copies a file of a host into the host's folder of the run directory.
func (c *collector) fetch(ctx context.Context, h *ensembles.Host, path, name string) error {
	r, err := h.Agent.File(ctx, path)
	if err != nil {
		return fmt.Errorf("fetch %s of %s: %w", path, h.Name, err)
	}
	defer r.Close()
	f, err := os.Create(filepath.Join(rundir.HostDir(c.dir, h.Name), name))
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}

// processStream returns the history of a host's n-th process, which runs in a directory of the host.
func processStream(h *ensembles.Host, dir string, n int) stream {
	return stream{host: h, dir: filepath.Join(dir, agent.ProcessHistoryDir), file: rundir.ProcessHistory(n)}
}

// agentStream returns the history of a host's agent from now on.
func agentStream(ctx context.Context, h *ensembles.Host) (stream, error) {
	st, err := h.Agent.Status(ctx)
	return stream{host: h, dir: agent.HistoryDir, file: rundir.AgentHistory, offset: st.HistoryBytes}, err
}
