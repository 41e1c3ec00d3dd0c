package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"locklab/ensembles"
	"locklab/ensembles/txnlog"
	"locklab/harness/history"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
)

const (
	// settleCap bounds the write through each server that precedes the copying of the logs.
	settleCap = 5 * time.Second
	// logsCap is how long nothing may arrive of any server's log.
	logsCap = time.Minute
)

// noteLastZxids records the last transaction of each server as the run begins, unless no logs will be copied. If a
// server does not answer, nothing is lost, because more of its log is copied then. A server of an external ensemble
// that does not tell has at least seen the transaction that made the path of the stage's runs.
func (r *run) noteLastZxids(ctx context.Context) error {
	out := r.stage.outside
	if out != nil && r.sc.TxnLogDir == "" {
		return nil
	}
	var first int64
	for i, zxid := range r.lastZxids(ctx) {
		if zxid == 0 && out != nil {
			zxid = out.path.Zxid
		}
		if zxid == 0 {
			continue
		}
		if first == 0 || zxid < first {
			first = zxid
		}
		log := history.ServerLog{Server: r.stage.ensemble.Servers[i].Name, LastZxid: zxid}
		if err := r.note(log.Event(history.Info)); err != nil {
			return err
		}
	}
	r.firstZxid = first
	return nil
}

// lastZxids asks every server for its last transaction; 0 if it does not answer.
func (r *run) lastZxids(ctx context.Context) []int64 {
	ctx, cancel := context.WithTimeout(ctx, settleCap)
	defer cancel()
	all := make([]int64, len(r.stage.ensemble.Servers))
	var g errgroup.Group
	for i, h := range r.stage.ensemble.Servers {
		g.Go(func() (err error) {
			all[i], err = ensembles.LastZxid(ctx, h)
			return err
		})
	}
	_ = g.Wait() // a server that does not answer keeps 0
	return all
}

// clockEvery is how often the wall clock is compared with the run's clock. In between, the daemon that adjusts the wall
// clock cannot move it by a millisecond.
const clockEvery = time.Second

// compareClocks records the wall clock beside the run's clock at once and until ctx ends. The comparison places the
// times of the servers' logs, which are those of the wall clock, in the history. It records nothing about an ensemble
// elsewhere, whose servers may have another clock; see [run.spare].
func (r *run) compareClocks(ctx context.Context) error {
	if r.stage.ensemble.External {
		return nil
	}
	tick := time.NewTicker(clockEvery)
	defer tick.Stop()
	for {
		if err := r.noteClock(); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return r.noteClock()
		}
	}
}

// noteClock records a reading of both clocks, the one of several that took the shortest.
func (r *run) noteClock() error {
	var best history.Event
	width := int64(1 << 62)
	for range 8 {
		before := r.stage.clock.Now()
		wall := time.Now().UnixNano()
		if w := r.stage.clock.Now() - before; w < width {
			width = w
			best = history.WallClock{Wall: wall}.Event(before + w/2)
		}
	}
	return r.note(best)
}

// collectLogs copies the servers' transaction logs into the run directory, after each server that serves has committed
// a write that follows all writes of the run. Of an external ensemble it copies what txnlog-dir has. A log that cannot
// be copied is recorded but is not an error, because the logs of a majority suffice and the checks say what is missing.
func (r *run) collectLogs(ctx context.Context) error {
	if r.stage.ensemble.External {
		return r.extractLogs(ctx)
	}
	ctx, arriving := whileProgress(ctx, logsCap)
	defer arriving.stop()
	var g errgroup.Group
	for _, h := range r.stage.ensemble.Servers {
		g.Go(func() error { return r.collectLog(ctx, h, arriving) })
	}
	return errors.Join(g.Wait(), r.noteClock())
}

// collectLog copies the transaction logs of one server.
func (r *run) collectLog(ctx context.Context, h *ensembles.Host, arriving io.Writer) error {
	kind, log := history.OK, r.settle(ctx, h)
	settled := log.Detail == ""
	bytes, err := ensembles.FetchTxnLogs(ctx, h, r.firstZxid, rundir.TxnLogDir(r.dir, h.Name), arriving)
	log.Bytes = bytes
	if err != nil {
		kind, log.Detail = history.Fail, err.Error()
	}
	if settled && err == nil {
		asking, cancel := context.WithTimeout(ctx, settleCap)
		defer cancel()
		if dump, err := h.Agent.Ask(asking, "dump"); err == nil {
			if err := rundir.WriteDump(r.dir, h.Name, dump); err != nil {
				return err
			}
		}
	}
	return r.note(log.Event(kind))
}

// settle has a server commit a write that follows all writes of the run, and says how far its log is then at least.
func (r *run) settle(ctx context.Context, h *ensembles.Host) history.ServerLog {
	log := history.ServerLog{Server: h.Name}
	ctx, cancel := context.WithTimeout(ctx, settleCap)
	defer cancel()
	if err := h.Agent.CommitWrite(ctx); err != nil {
		log.Detail = fmt.Sprintf("it committed no write at the end: %v", err)
	} else if zxid, err := ensembles.LastZxid(ctx, h); err == nil {
		log.LastZxid = zxid
	}
	return log
}

// openTxnLogs makes sure that each directory of txnlog-dir has transaction logs.
func openTxnLogs(sc *scenario.Scenario) error {
	for _, dir := range sc.TxnLogDirs() {
		if _, err := txnLogs(dir); err != nil {
			return sc.Refuse("txnlog-dir", err.Error(), "the dataLogDir of a server, or its dataDir if it has none, "+
				"as this machine sees it")
		}
	}
	return nil
}

// txnLogs opens the directory of a server's logs, which is the one that the server's configuration names, or the one in
// it that has the files.
func txnLogs(dir string) (fs.FS, error) {
	for _, d := range []string{dir, filepath.Join(dir, "version-2")} {
		names, err := txnlog.Files(os.DirFS(d))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if len(names) > 0 {
			return os.DirFS(d), nil
		}
	}
	return nil, fmt.Errorf("%s has %w", dir, txnlog.ErrNoLogs)
}

// extractLogs copies the run's part of the logs of an ensemble elsewhere from txnlog-dir into the run directory, see
// [txnlog.Extraction]. Like [run.collectLogs], it records a log that cannot be copied. The servers go on working for
// others, so their logs end at different moments. The copies end where all of the logs are known to be complete.
func (r *run) extractLogs(ctx context.Context) error {
	dirs := r.sc.TxnLogDirs()
	if len(dirs) == 0 {
		return nil
	}
	all := make([]history.ServerLog, len(dirs))
	var g errgroup.Group
	for i, h := range r.stage.ensemble.Servers[:len(dirs)] {
		if h == r.stage.ensemble.Silent { // where its log ends is seen in the log
			all[i].Server = h.Name
			continue
		}
		g.Go(func() error {
			all[i] = r.settle(ctx, h)
			return nil
		})
	}
	_ = g.Wait() // none returns an error
	x := txnlog.Extraction{Root: r.stage.root(), After: r.firstZxid, Until: math.MaxInt64}
	for i := range all {
		if r.stage.ensemble.Servers[i] != r.stage.ensemble.Silent {
			x.Until = min(x.Until, all[i].LastZxid) // 0 if one is not known
		}
	}
	var errs []error
	for i, log := range all {
		kind := history.OK
		src, err := txnLogs(dirs[i])
		if err == nil {
			log.Bytes, err = x.Copy(rundir.TxnLogDir(r.dir, log.Server), src)
		}
		if err != nil {
			kind, log.Detail = history.Fail, err.Error()
		}
		errs = append(errs, r.note(log.Event(kind)))
	}
	return errors.Join(errs...)
}

// An arriving is a writer that keeps a context alive as long as bytes arrive.
type arriving struct {
	silence time.Duration
	timer   *time.Timer
	cancel  context.CancelCauseFunc
}

// whileProgress returns a context that ends when nothing has been written for a while to the writer that comes with
// it.
func whileProgress(ctx context.Context, silence time.Duration) (context.Context, *arriving) {
	ctx, cancel := context.WithCancelCause(ctx)
	return ctx, &arriving{silence: silence, cancel: cancel, timer: time.AfterFunc(silence, func() {
		cancel(fmt.Errorf("nothing arrived for %v: %w", silence, context.DeadlineExceeded))
	})}
}

// Write takes bytes that have arrived.
func (a *arriving) Write(b []byte) (int, error) {
	a.timer.Reset(a.silence)
	return len(b), nil
}

// stop ends the context.
func (a *arriving) stop() {
	a.timer.Stop()
	a.cancel(nil)
}
