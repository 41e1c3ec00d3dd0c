package harness

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"locklab/ensembles"
	"locklab/harness/history"
)

// Names in a server's folder of a run directory.
const (
	txnLogDir = "txnlog"   // its transaction logs, from the run's beginning on
	dumpFile  = "dump.txt" // the sessions and ephemeral znodes that it had in the end
)

// Caps on what the servers' own word may cost a run.
const (
	// settleCap bounds the write through each server after which the logs are copied.
	settleCap = 5 * time.Second
	logsCap   = time.Minute
)

// noteServers records how far each server's transactions went as the run begins. What a
// server does not say is no loss: more of its log is copied then.
func (r *run) noteServers(ctx context.Context) error {
	var first int64
	for i, zxid := range r.lastZxids(ctx) {
		if zxid == 0 {
			continue
		}
		if first == 0 || zxid < first {
			first = zxid
		}
		if err := r.note(history.Event{Op: history.OpServerLog, Target: r.stage.ensemble.Servers[i].Name, Value: zxid}); err != nil {
			return err
		}
	}
	r.firstZxid = first
	return nil
}

// lastZxids asks every server; 0 if it does not answer.
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
	_ = g.Wait() // who did not answer is 0
	return all
}

// clockEvery is how often the wall clock is compared with the run's: often enough that
// what steers it cannot move it by a millisecond in between.
const clockEvery = time.Second

// compareClocks records the wall clock beside the run's until ctx ends, and at once: by it the times in
// the servers' logs are placed.
func (r *run) compareClocks(ctx context.Context) error {
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

// noteClock reads both clocks, the tightest of several times.
func (r *run) noteClock() error {
	var best history.Event
	width := int64(1 << 62)
	for range 8 {
		before := r.stage.clock.Now()
		wall := time.Now().UnixNano()
		if w := r.stage.clock.Now() - before; w < width {
			width = w
			best = history.Event{At: before + w/2, Op: history.OpClock, Value: wall}
		}
	}
	return r.note(best)
}

// collectLogs copies the servers' transaction logs into the run directory, once every
// server that serves has committed a write behind all that the run did. What cannot be had
// is recorded, and no error: the logs of a majority are enough, and the checks say what
// is missing.
func (r *run) collectLogs(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, logsCap)
	defer cancel()
	var g errgroup.Group
	for _, h := range r.stage.ensemble.Servers {
		g.Go(func() error { return r.collectLog(ctx, h) })
	}
	return errors.Join(g.Wait(), r.noteClock())
}

func (r *run) collectLog(ctx context.Context, h *ensembles.Host) error {
	folder := filepath.Join(r.dir, hostsDir, h.Name)
	e := history.Event{Op: history.OpServerLog, Target: h.Name, Kind: history.OK}
	settled, cancel := context.WithTimeout(ctx, settleCap)
	defer cancel()
	settling := h.Agent.CommitWrite(settled)
	if settling != nil {
		e.Detail = fmt.Sprintf("it commits no write in the end: %v", settling)
	}
	bytes, err := ensembles.FetchTxnLogs(ctx, h, r.firstZxid, filepath.Join(folder, txnLogDir))
	e.Value = bytes
	if err != nil {
		e.Kind, e.Detail = history.Fail, err.Error()
	}
	if settling == nil && err == nil {
		if dump, err := h.Agent.Ask(settled, "dump"); err == nil {
			if err := writeText(filepath.Join(folder, dumpFile), dump); err != nil {
				return err
			}
		}
	}
	return r.note(e)
}
