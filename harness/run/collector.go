package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"sync"
	"time"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/harness/history"
	"locklab/harness/rundir"
	"locklab/harness/watch"
)

// A collector streams the histories of a run's hosts into the run directory as they are written, and feeds their
// events to a view of the run.
type collector struct {
	dir   string // the run directory
	run   string // the run's id
	clock history.Clock
	view  *watch.View
	every time.Duration // how often agents look for what other processes have written; 0 = at the agents' own choice

	streams  sync.WaitGroup
	mu       sync.Mutex
	received []history.Event // how much arrived of each stream that has ended
	errs     []error
}

// A stream is one history of one host.
type stream struct {
	host   *ensembles.Host
	dir    string // on the host
	file   string // in the host's folder of the run directory
	offset int64  // where the run begins in it
	keep   bool   // the host keeps what has arrived
}

// follow appends the stream to its file until the process has ended or ctx ends. It connects again when a connection
// breaks and then asks only for what has not arrived yet.
func (c *collector) follow(ctx context.Context, s stream) error {
	f, err := rundir.CreateHostFile(c.dir, s.host.Name, s.file)
	if err != nil {
		return err
	}
	name := path.Join(s.host.Name, s.file)
	heading := history.Heading{Run: c.run, File: name}.Event()
	heading.At, heading.Process = s.host.Agent.ToHost(c.clock.Now()), s.host.Name // as all that follows
	_, err = f.Write(history.Encode(heading))
	c.streams.Go(func() {
		if err == nil {
			err = c.copy(ctx, s, f)
		}
		c.end(s, name, f, err)
	})
	return nil
}

// end notes how much of a stream has arrived when it ends with err.
func (c *collector) end(s stream, name string, f *os.File, err error) {
	received := history.Received{File: name}
	if st, statErr := f.Stat(); statErr == nil {
		received.Bytes = st.Size()
	} else {
		err = errors.Join(err, statErr)
	}
	err = errors.Join(err, f.Close())
	c.mu.Lock()
	defer c.mu.Unlock()
	kind := history.OK
	if err != nil {
		kind, received.Detail = history.Fail, err.Error()
		c.errs = append(c.errs, fmt.Errorf("history of %s: %w", s.host.Name, err))
	}
	c.received = append(c.received, received.Event(kind))
}

// silenceCap is how long nothing may arrive of what a host still has to send, before it is given up.
const silenceCap = 10 * time.Second

func (c *collector) copy(ctx context.Context, s stream, f *os.File) error {
	feed := c.view.Feed(s.host.Agent.ToRun)
	at := s.offset
	failures := 0
	for {
		n, err := c.read(ctx, s, at, true, f, feed)
		at += n
		switch {
		case err == nil && n == 0:
			return nil // the process has ended, and its whole history has arrived
		case err == nil:
			failures = 0
			continue
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
	// The run is over, so what has been written by now is the rest. However long it is, it is taken as long as it arrives.
	last, arriving := whileProgress(context.WithoutCancel(ctx), silenceCap)
	defer arriving.stop()
	for {
		n, err := c.read(last, s, at, false, f, io.MultiWriter(feed, arriving))
		at += n
		switch {
		case last.Err() != nil:
			return context.Cause(last)
		case err != nil || n == 0:
			return err
		}
	}
}

// read copies a history from an offset on and returns how many bytes arrived.
func (c *collector) read(
	ctx context.Context, s stream, offset int64, follow bool, f *os.File, feed io.Writer,
) (int64, error) {
	r, err := s.host.Agent.History(ctx,
		agent.HistoryRequest{Dir: s.dir, Offset: offset, Follow: follow, Every: c.every, Collect: !s.keep})
	if err != nil {
		return 0, err
	}
	defer r.Close()
	return io.Copy(io.MultiWriter(f, feed), r)
}

// wait waits for all streams to end. It returns how much of each has arrived, as events of [history.Received].
func (c *collector) wait() ([]history.Event, error) {
	c.streams.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.received, errors.Join(c.errs...)
}

// fetch copies a file of a host into the host's folder of the run directory.
func (c *collector) fetch(ctx context.Context, h *ensembles.Host, file, name string) error {
	r, err := h.Agent.File(ctx, file)
	if err != nil {
		return fmt.Errorf("fetch %s of %s: %w", file, h.Name, err)
	}
	defer r.Close()
	f, err := os.Create(filepath.Join(rundir.HostDir(c.dir, h.Name), name))
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}

// processStream returns the history of a host's n-th process, which runs in a directory of the host. The resource's
// stays on its host, because the next process resumes from it.
func processStream(h *ensembles.Host, dir string, n int) stream {
	return stream{host: h, dir: filepath.Join(dir, agent.ProcessHistoryDir), file: rundir.ProcessHistory(n),
		keep: h.Role == ensembles.Resource}
}

// agentStream returns the history of a host's agent from now on.
func agentStream(ctx context.Context, h *ensembles.Host) (stream, error) {
	st, err := h.Agent.Status(ctx)
	return stream{host: h, dir: agent.HistoryDir, file: rundir.AgentHistory, offset: st.HistoryBytes, keep: true}, err
}
