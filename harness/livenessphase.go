package harness

import (
	"context"
	"errors"
	"fmt"
	"time"

	"locklab/harness/check"
	"locklab/harness/history"
	"locklab/harness/scenario"
	"locklab/workloads/client"
)

// calm is when the faults of a run were over, in ns of CLOCK_MONOTONIC.
type calm struct {
	over int64 // the last of them, as far as is known
	heal int64 // the final heal was verified, or given up
}

const (
	// afterBound is by how much longer than a stall must be for the check to see it the clients go on.
	afterBound = 100 * time.Millisecond
	// closeIn is from telling clients when their window closes to that moment.
	closeIn = 100 * time.Millisecond
	// never is later than any run ends.
	never = 24 * time.Hour
)

// healsFirst reports whether clients work on until everything is healed, however long that takes.
func (r *run) healsFirst() bool { return r.sc.LivenessPhase() > 0 && len(r.plan.Steps) > 0 }

// toldEnd is when clients are told at first that their window closes, which they may be told again.
func (r *run) toldEnd(end int64) int64 {
	if r.healsFirst() {
		return end + int64(never)
	}
	return end + int64(r.sc.LivenessPhase())
}

// workOn lets clients work on after the measured window, which ended at end, until everything is healed and
// progress was seen, and closes their window. It returns when that is; false if it was interrupted. As soon as it is
// known when that will be, [live.closes] is it.
func (r *run) workOn(ctx context.Context, end int64, healed <-chan calm) (last int64, ok bool, err error) {
	clock := r.stage.clock
	if !r.healsFirst() {
		last = r.toldEnd(end)
		r.live.close(last)
		if err := r.phase(history.PhaseLiveness, end); err != nil || !waitUntil(ctx, clock.Time(last)) {
			return 0, false, err
		}
		return last, true, nil
	}
	var c calm
	select {
	case c = <-healed:
	default:
		if err := r.phase(history.PhaseHeal, end); err != nil {
			return 0, false, err
		}
		select {
		case c = <-healed:
		case <-ctx.Done():
			return 0, false, nil
		}
	}
	if err := r.phase(history.PhaseLiveness, max(end, c.heal)); err != nil {
		return 0, false, err
	}
	r.awaitProgress(ctx, c)
	if ctx.Err() != nil {
		return 0, false, nil
	}
	last = clock.Now() + int64(closeIn)
	return last, true, r.tellUntil(ctx, last)
}

// awaitProgress waits until every client has got a lock since the final heal, and what faults left behind has had
// the time to show, or until there was time enough for both.
func (r *run) awaitProgress(ctx context.Context, c calm) {
	clock := r.stage.clock
	longest := clock.Time(c.heal).Add(r.sc.LivenessPhase())
	if r.sc.Liveness != scenario.LivenessAuto || !demandsProgress(r.sc, r.plan) {
		waitUntil(ctx, longest)
		return
	}
	least := clock.Time(c.over).Add(check.StallBound(r.sc.Negotiated(), r.sc.Tick) + afterBound)
	if !waitUntil(ctx, least) {
		return
	}
	ctx, cancel := context.WithDeadline(ctx, longest)
	defer cancel()
	_ = r.live.wait(ctx, func() bool { return len(r.live.owed) == 0 }) // who got none is for the check to say
}

// tellUntil tells every client process that is left when its window closes.
func (r *run) tellUntil(ctx context.Context, last int64) error {
	var errs []error
	for _, h := range r.clientHosts() {
		if _, err := h.Agent.Input(ctx, client.FormatUntil(last)); err != nil && !r.live.gone(h.Name) {
			errs = append(errs, err)
		}
	}
	r.live.close(last)
	return errors.Join(errs...)
}

// clientNames are those of all clients.
func (r *run) clientNames() []string {
	var all []string
	for i, n := range r.sc.ClientsPerProcess() {
		for k := range n {
			all = append(all, fmt.Sprintf("%s/%d", r.clientHosts()[i].Name, k))
		}
	}
	return all
}

// owe notes who has yet to get a lock: those of the clients whose process lives. It returns the instant from
// which on.
func (l *live) owe(clients []string) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.owed = map[string]bool{}
	for _, c := range clients {
		if _, exited := l.exited[hostOf(c)]; !exited {
			l.owed[c] = true
		}
	}
	l.owedFrom = l.clock.Now()
	return l.owedFrom
}

// gone reports whether the process of a host has ended.
func (l *live) gone(host string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, exited := l.exited[host]
	return exited
}

// close says when clients begin no more acquisitions, in ns of CLOCK_MONOTONIC.
func (l *live) close(at int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closes = at
	close(l.changed)
	l.changed = make(chan struct{})
}
