package harness

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
	"locklab/harness/history"
)

// collector streams the histories of a run's hosts into its directory as they
// are written, and shows the events to a live view on the way.
type collector struct {
	dir  string // the run's hosts directory
	live *live

	wg   sync.WaitGroup
	mu   sync.Mutex
	errs []error
}

// stream is one history of one host.
type stream struct {
	host   *ensembles.Host
	dir    string // on the host
	file   string // in the host's folder
	offset int64  // where the run begins in it
}

// follow appends the stream to its file until its process has ended or ctx does.
// A broken connection is mended; what had arrived is not asked for again.
func (c *collector) follow(ctx context.Context, s stream) error {
	folder := filepath.Join(c.dir, s.host.Name)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(folder, s.file), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	c.wg.Go(func() {
		err := c.copy(ctx, s, f)
		if err = errors.Join(err, f.Close()); err != nil {
			c.mu.Lock()
			c.errs = append(c.errs, fmt.Errorf("history of %s: %w", s.host.Name, err))
			c.mu.Unlock()
		}
	})
	return nil
}

// finalCap bounds the last read of a history after its context ended.
const finalCap = 10 * time.Second

func (c *collector) copy(ctx context.Context, s stream, f *os.File) error {
	feed := c.live.feed()
	at := s.offset
	failures := 0
	for {
		n, err := c.read(ctx, s, at, true, f, feed)
		at += n
		if err == nil {
			return nil // the process has ended, and all of it is here
		}
		if ctx.Err() != nil {
			break
		}
		const patience = 50 // times 100 ms: an agent that is gone that long is gone
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
	// The run is over: take what is there and stop.
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), finalCap)
	defer cancel()
	_, err := c.read(last, s, at, false, f, feed)
	return err
}

// read copies from an offset on and returns how much of it came.
func (c *collector) read(ctx context.Context, s stream, offset int64, follow bool, f *os.File, feed io.Writer) (int64, error) {
	r, err := s.host.Agent.History(ctx, s.dir, offset, follow)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	return io.Copy(io.MultiWriter(f, feed), r)
}

// wait waits for all streams to end.
func (c *collector) wait() error {
	c.wg.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	return errors.Join(c.errs...)
}

// fetch copies a file of a host into its folder. One that is not there is no error.
func (c *collector) fetch(ctx context.Context, h *ensembles.Host, path, name string) error {
	r, err := h.Agent.File(ctx, path)
	if err != nil {
		return fmt.Errorf("fetch %s of %s: %w", path, h.Name, err)
	}
	defer r.Close()
	f, err := os.Create(filepath.Join(c.dir, h.Name, name))
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}

// processStream is the history of a host's process in its directory.
func processStream(h *ensembles.Host, dir string) stream {
	return stream{host: h, dir: filepath.Join(dir, agent.ProcessHistoryDir), file: processHist}
}

// agentStream is the history of a host's agent from now on.
func agentStream(ctx context.Context, h *ensembles.Host) (stream, error) {
	st, err := h.Agent.Status(ctx)
	return stream{host: h, dir: agent.HistoryDir, file: agentHist, offset: st.HistoryBytes}, err
}

var _ = history.SegmentSuffix // processHist and agentHist end in it
