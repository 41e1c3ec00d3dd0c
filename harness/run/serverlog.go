package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sync/errgroup"

	"locklab/ensembles"
	"locklab/harness/history"
	"locklab/harness/rundir"
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
