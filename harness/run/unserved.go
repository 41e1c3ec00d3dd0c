package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"locklab/chaos"
	"locklab/ensembles"
	"locklab/ensembles/reach"
	"locklab/harness/check/service"
	"locklab/harness/history"
	"locklab/harness/watch"
)

// errUnserved says that a run ended itself because servers that were up did not serve. What they did is in the record.
var errUnserved = errors.New("the run ended itself because servers that were up did not serve")

// mendCap is how long an ensemble may take to serve again after a server was started again, at the end of such a run.
const mendCap = 30 * time.Second

// A serviceWatch notices that servers are up and do not serve. It asks the servers nothing as long as they serve
// clients, because what it asks would count as load.
type serviceWatch struct {
	run *run

	mu sync.Mutex
	// striking has, by fault, whether it is in force on a server, or may be.
	striking   map[string]bool
	over       int64 // when the last of these was over, in ns of CLOCK_MONOTONIC
	recovering bool  // the ensemble is waited for, whether clients are answered or not
}

// A serviceJournal tells a watch which faults of servers are in force.
type serviceJournal struct {
	*history.Recorder
	watch *serviceWatch
}

// Record implements [chaos.Journal].
func (j serviceJournal) Record(e history.Event) error {
	j.watch.hear(&e)
	return j.Recorder.Record(e)
}

// hear takes in a step of a fault. One that is aimed at servers counts from its request on.
func (w *serviceWatch) hear(e *history.Event) {
	step := e.FaultStep()
	w.mu.Lock()
	defer w.mu.Unlock()
	switch e.Op {
	case history.OpFaultInject:
		if e.Kind == history.Invoke && w.aimed(step.ID) ||
			e.Kind == history.OK && slices.ContainsFunc(step.Hosts, w.isServer) {
			w.striking[step.ID] = true
			return
		}
	case history.OpFaultHeal:
		if e.Kind != history.OK {
			return // it is healed once more later
		}
	case history.OpFaultUnsupported, history.OpFaultMissed:
	default:
		return
	}
	w.ended(step.ID)
}

// ended notes that a fault is over. w.mu is held.
func (w *serviceWatch) ended(fault string) {
	if w.striking[fault] {
		delete(w.striking, fault)
		w.over = w.run.stage.clock.Now()
	}
}

func (w *serviceWatch) aimed(id string) bool {
	steps := w.run.plan.Steps
	i := slices.IndexFunc(steps, func(p chaos.PlannedFault) bool { return p.ID == id })
	return i >= 0 && steps[i].Fault.HitsServer()
}

func (w *serviceWatch) isServer(host string) bool {
	h := w.run.stage.lab.Host(host)
	return h != nil && h.Role == ensembles.Server
}

// await notes that all faults were undone, and that the ensemble is waited for until the function that it returns is
// called.
func (w *serviceWatch) await() (recovered func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for fault := range w.striking {
		w.ended(fault)
	}
	w.recovering = true
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.recovering = false
	}
}

// due reports whether the servers are to be looked at, and whether a fault of theirs is in force.
func (w *serviceWatch) due() (due, struck, recovering bool) {
	var answered int64
	w.run.view.Look(func(now watch.State) { answered = now.Answered() })
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.striking) > 0 {
		return false, true, false
	}
	since := w.over
	if !w.recovering {
		since = max(since, answered)
	}
	return w.run.stage.clock.Now()-since >= int64(service.LookAfter), false, w.recovering
}

// watch looks at the servers while ctx lasts, and returns errUnserved once it is certain that they do not serve.
// Every look at which they did not is recorded, and so is the first one at which they did again.
func (w *serviceWatch) watch(ctx context.Context) error {
	if w.run.stage.ensemble.External {
		return nil // see spare
	}
	var seen []history.Look
	var stood, before int64 // for how long processes have stood still, and had when the first look of seen was taken
	for waitUntil(ctx, time.Now().Add(service.LookEvery)) {
		due, struck, recovering := w.due()
		if struck {
			seen = nil
		}
		if !due && len(seen) == 0 || !recovering && len(seen) == 0 && w.atEase(ctx) {
			continue
		}
		l := w.look(ctx)
		if ctx.Err() != nil {
			return nil
		}
		lack, _ := l.Lack()
		if lack == "" && len(seen) == 0 {
			continue
		}
		if err := w.run.noteLook(l); err != nil {
			return err
		}
		w.run.view.Look(func(now watch.State) { stood = now.Stood() })
		if len(seen) == 0 {
			before = stood
		}
		if seen = append(seen, l); lack == "" {
			seen = nil
			continue
		}
		all := service.Unserveds(seen, func(history.Lack, int64, int64) bool { return false })
		// The check leaves out the times in which processes stood still, and may hear of some of them later.
		if u := &all[len(all)-1]; u.Lasted()-time.Duration(stood-before) >= u.Lack.Bound()*3/2 {
			return errUnserved
		}
	}
	return nil
}

// atEase reports whether each server has a role and no request that waits. That costs them one short answer.
func (w *serviceWatch) atEase(ctx context.Context) bool {
	for _, h := range w.run.stage.ensemble.Servers {
		if n, told := outstanding(ctx, h); !told || n > 0 {
			return false
		}
	}
	return true
}

// look asks every server how it stands, and makes a write through it.
func (w *serviceWatch) look(ctx context.Context) history.Look {
	servers := w.run.stage.ensemble.Servers
	l := history.Look{At: w.run.stage.clock.Now(), Servers: make([]history.Standing, len(servers))}
	var asking sync.WaitGroup
	for i, h := range servers {
		asking.Go(func() { l.Servers[i] = standing(ctx, h) })
	}
	asking.Wait()
	return l
}

func standing(ctx context.Context, h *ensembles.Host) history.Standing {
	ctx, cancel := context.WithTimeout(ctx, service.LookCap)
	defer cancel()
	s := history.Standing{Server: h.Name}
	var writing sync.WaitGroup
	writing.Go(func() { s.Committed = h.Agent.CommitWrite(ctx) == nil })
	if answer, err := h.Agent.Ask(ctx, "ruok"); err == nil {
		s.Up = strings.TrimSpace(answer) == "imok"
	}
	if answer, err := h.Agent.Ask(ctx, "srvr"); err == nil {
		s.Role = reach.Field(answer, "Mode:")
		s.Zxid, _ = strconv.ParseInt(reach.Field(answer, "Zxid:"), 0, 64)
	}
	if answer, err := h.Agent.Ask(ctx, "mntr"); err == nil {
		s.Counters = counterWords(ensembles.ParseMetrics(answer))
	}
	writing.Wait()
	return s
}

// counterWords says in words what a server counted that shows whether it serves. Servers before 3.6 do not count all of
// it, and followers propose nothing.
func counterWords(m map[string]float64) string {
	var words []string
	for _, c := range [...]struct{ name, means string }{
		{"zk_proposal_count", "proposed"}, {"zk_commit_count", "committed"},
		{"zk_synced_followers", "followers in step"}, {"zk_outstanding_requests", "requests waiting"},
	} {
		if n := m[c.name]; n > 0 {
			words = append(words, fmt.Sprintf("%.0f %s", n, c.means))
		}
	}
	return strings.Join(words, ", ")
}

// noteLook records how the servers stood.
func (r *run) noteLook(l history.Look) error {
	var err error
	for _, s := range l.Servers {
		err = errors.Join(err, r.note(s.Event(l.At)))
	}
	return err
}

// tryRestarts finds out whether the restart of a follower, and then that of the leader, makes servers serve again that
// did not, unless the end of the clients and of all faults has. An ensemble that does not serve is of no use to another
// run.
func (r *run) tryRestarts(ctx context.Context) error {
	for _, role := range [...]string{ensembles.RoleFollower, ensembles.RoleLeader} {
		l := r.service.look(ctx)
		if lack, _ := l.Lack(); lack == "" {
			return r.noteLook(l)
		}
		r.stage.unfit = true
		i := slices.IndexFunc(l.Servers, func(s history.Standing) bool { return s.Role == role && !s.Committed })
		if i < 0 {
			continue
		}
		h := r.stage.ensemble.Servers[i]
		if _, err := h.Agent.Stop(ctx); err != nil {
			return err
		}
		if _, err := h.Agent.Restart(ctx); err != nil {
			return err
		}
		mending, cancel := context.WithTimeout(ctx, mendCap)
		r.stage.unfit = ensembles.Poll(mending, time.Second, "servers that serve", func() error {
			l = r.service.look(ctx) // which has a limit of its own, so that the last look is whole
			if lack, _ := l.Lack(); lack != "" {
				return errUnserved
			}
			return nil
		}) != nil
		cancel()
		if err := r.noteLook(l); err != nil || !r.stage.unfit {
			return err
		}
	}
	return nil
}
