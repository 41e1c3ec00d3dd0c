package broken_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"locklab/ensembles"
	"locklab/ensembles/txnlog"
	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/check"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
	"locklab/recipes"
	"locklab/recipes/broken"
	"locklab/recipes/zksession"
)

// A journal is the history of a world, in the form in which the clients of a run record theirs.
type journal struct {
	clock history.Clock
	since int64 // the last transaction before the history begins

	mu     sync.Mutex
	events []history.Event
}

func (w *world) record(e history.Event) {
	w.journal.mu.Lock()
	defer w.journal.mu.Unlock()
	e.At = w.journal.clock.Now()
	w.journal.events = append(w.journal.events, e)
}

// begin starts the history.
func (w *world) begin() {
	w.t.Helper()
	w.journal.clock = history.NewClock()
	if w.memory {
		return
	}
	for _, h := range ensemble.Ensemble(w.t).Servers {
		zxid, err := ensembles.LastZxid(w.ctx, h)
		if err != nil {
			w.t.Fatal(err)
		}
		if w.journal.since == 0 || zxid < w.journal.since {
			w.journal.since = zxid
		}
	}
	w.record(history.Event{Op: history.OpClock, Value: time.Now().UnixNano()})
	w.record(history.Event{Op: history.OpPhase, Detail: string(history.PhaseMeasure)})
}

// state records that a client has a session.
func (c *client) state(s zksession.StateChange) {
	if s.State == zksession.Connected {
		c.w.record(
			history.Event{
				Op:      history.OpConnected,
				Client:  c.name,
				Session: history.SessionID(s.Session),
				Value:   int64(s.Negotiated),
			},
		)
	}
}

// recorded records each acquisition of a client, whatever the mode.
func (c *client) recorded(ways broken.Ways, units int) broken.Ways {
	of := func(l recipes.Lock, mode history.Mode, units int) recipes.Lock {
		if l == nil {
			return nil
		}
		return acquirer(func(ctx context.Context) (*recipes.Hold, error) {
			return c.attempt(mode, units, func() (*recipes.Hold, error) { return l.Acquire(ctx) })
		})
	}
	write := history.ModeExclusive
	if ways.Read != nil {
		write = history.ModeWrite
	}
	all := broken.Ways{
		Write:   of(ways.Write, write, 0),
		Read:    of(ways.Read, history.ModeRead, 0),
		Permits: of(ways.Permits, history.ModePermit, units),
	}
	if ways.Downgrade != nil {
		all.Downgrade = func(ctx context.Context, h *recipes.Hold) (*recipes.Hold, error) {
			return c.attempt(history.ModeRead, 0, func() (*recipes.Hold, error) { return ways.Downgrade(ctx, h) })
		}
	}
	return all
}

func (c *client) attempt(mode history.Mode, units int, get func() (*recipes.Hold, error)) (*recipes.Hold, error) {
	e := history.Event{
		Op:     history.OpAcquire,
		Kind:   history.Invoke,
		Client: c.name,
		Acq:    c.attempts.Add(1),
		Lock:   c.w.path,
		Mode:   mode,
		Value:  int64(units),
	}
	c.w.record(e)
	h, err := get()
	e.Kind = history.OK
	if err != nil {
		e.Kind, e.Detail = history.Fail, err.Error()
	} else {
		e.Token, e.Session = h.Token(), history.SessionID(h.Session())
	}
	c.w.record(e)
	if err == nil {
		// Only the grant is compared with the servers. The triggers do not tell how long a client believes in its hold,
		// so the history says that it gave the hold up at once.
		e.Op, e.Kind = history.OpRelease, history.Invoke
		c.w.record(e)
	}
	return h, err
}

type acquirer func(ctx context.Context) (*recipes.Hold, error)

func (f acquirer) Acquire(ctx context.Context) (*recipes.Hold, error) { return f(ctx) }

// layouts tells, for each sound recipe, which znodes the servers' logs are searched for.
var layouts = map[string]nodes.Layout{
	"mutex":     nodes.LayoutQueue,
	"rw":        nodes.LayoutReadWrite,
	"semaphore": nodes.LayoutSemaphore,
}

// serversWord ends the history, and returns what the servers' transaction logs say about its grants.
func (w *world) serversWord() evidence.Verdict {
	w.t.Helper()
	w.record(history.Event{Op: history.OpClock, Value: time.Now().UnixNano()})
	w.record(history.Event{Op: history.OpEnd, Detail: string(history.EndComplete)})
	log := &evidence.ServerLog{Layout: layouts[w.lock.Sound]}
	var sources []txnlog.Source
	dir := w.t.TempDir()
	all := ensemble.Ensemble(w.t).Servers
	for _, h := range all { // a last write through each server makes sure that each has everything before it
		if err := h.Agent.CommitWrite(w.ctx); err != nil {
			w.t.Fatal(err)
		}
	}
	for _, h := range all {
		logs := filepath.Join(dir, h.Name)
		if _, err := ensembles.FetchTxnLogs(w.ctx, h, w.journal.since, logs, io.Discard); err != nil {
			w.t.Fatal(err)
		}
		sources = append(sources, txnlog.Source{Server: h.Name, Dir: os.DirFS(logs)})
		log.Servers, log.Ensemble = append(log.Servers, h.Name), append(log.Ensemble, h.Name)
	}
	log.History = nodes.NewHistory()
	_, err := txnlog.Merge(len(all), func(e *txnlog.Entry) {
		if e.Fate == txnlog.Committed {
			log.History.Add(&e.Txn)
		}
	}, sources...)
	if err = errors.Join(err, w.ctx.Err()); err != nil {
		w.t.Fatal(err)
	}
	w.journal.mu.Lock()
	defer w.journal.mu.Unlock()
	report := check.Run(history.NewLog(w.journal.events), evidence.Facts{Exclusive: true, Permits: w.permits,
		Servers: log})
	return *report.Check(evidence.ServiceExclusion)
}

// wantServersWord requires the servers' logs to show what the world found at the znodes, if the bug is one that the
// logs can show.
func (w *world) wantServersWord(want evidence.Result) {
	w.t.Helper()
	if w.lock.Check != broken.ServiceExclusion || w.memory {
		return
	}
	v := w.serversWord()
	w.t.Logf("servers: %s: %s", v.Result, v.Summary)
	if v.Result != want || want == evidence.Fail && (v.Count != 1 || !v.Violation) {
		w.t.Errorf("servers: %s, %d grants, violation %t; want %s: %+v", v.Result, v.Count, v.Violation, want, v.Findings)
	}
}
