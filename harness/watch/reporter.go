package watch

import (
	"sync"
	"time"

	"locklab/harness/history"
)

// A Reporter reports the progress of a run at regular intervals until it is stopped. Rates and percentiles change once
// a second, however often it reports.
type Reporter struct {
	view   *View
	report func(Progress) // nil = nobody is told
	every  time.Duration
	plan   Progress // what does not change

	mu     sync.Mutex
	start  time.Time // when the clients begin; zero while that is not known
	phase  history.Phase
	faults []string

	stop chan struct{}
	done chan struct{}
}

// ReporterConfig says what is reported to whom.
type ReporterConfig struct {
	View *View
	// Report is called with the progress, by one goroutine; nil = it is not called. It must not keep what it is given.
	Report func(Progress)
	// Every is the time from one report to the next; 0 = 1 s.
	Every time.Duration
	// Plan is what does not change: the names and the numbers that were planned.
	Plan Progress

	_ struct{}
}

// NewReporter returns a reporter that reports once [Reporter.Run] is called.
func NewReporter(c ReporterConfig) *Reporter {
	if c.Every == 0 {
		c.Every = time.Second
	}
	return &Reporter{
		view: c.View, report: c.Report, every: c.Every, plan: c.Plan,
		stop: make(chan struct{}), done: make(chan struct{}),
	}
}

// SetStart says when the clients begin.
func (r *Reporter) SetStart(at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.start = at
}

// SetPhase says which phase the run is in.
func (r *Reporter) SetPhase(phase history.Phase) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.phase = phase
}

// SetFaults says which faults are in force, in words.
func (r *Reporter) SetFaults(faults []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults = faults
}

// Run reports until [Reporter.End] is called.
func (r *Reporter) Run() {
	defer close(r.done)
	tick := time.NewTicker(r.every)
	defer tick.Stop()
	p, last, lastAt := r.plan, 0, time.Time{}
	for {
		select {
		case <-r.stop:
			return
		case now := <-tick.C:
			r.mu.Lock()
			start := r.start
			p.Phase, p.Faults = r.phase, r.faults
			r.mu.Unlock()
			if lastAt.IsZero() {
				lastAt = start
			}
			if !start.IsZero() {
				p.Elapsed = max(0, now.Sub(start)) // they begin a moment after this is known
			}
			r.view.mu.Lock()
			r.view.progress(&p, now)
			// A tick that comes a little early still ends its second.
			if since := now.Sub(lastAt); !start.IsZero() && since >= time.Second-r.every/2 {
				r.view.second(&p)
				p.Rate = float64(p.Acquired-last) / since.Seconds()
				p.Rates = append(p.Rates, p.Rate)
				last, lastAt = p.Acquired, now
			}
			r.view.mu.Unlock()
			if r.report != nil {
				r.report(p)
			}
		}
	}
}

// End stops the reports and waits until the last one is over.
func (r *Reporter) End() {
	close(r.stop)
	<-r.done
}
