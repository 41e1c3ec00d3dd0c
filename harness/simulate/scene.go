package simulate

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"locklab/chaos"
	"locklab/harness/history"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/harness/watch"
	"locklab/recipes/zktest/sim"
	"locklab/workloads"
	"locklab/workloads/claims"
	"locklab/workloads/control"
	"locklab/workloads/guard"
)

// A scene is a simulation of a scenario: what the scenario asks for in the place of what a seed draws, and what its
// faults need. They are those of package chaos, whose schedule runs in the time of the simulation.
type scene struct {
	*scenario.Scenario
	schedule chaos.Plan
	clock    history.Clock
	view     *watch.View
	locks    []string // their paths
	chooser  *workloads.Chooser
	start    time.Duration // when clients begin to work
	closes   atomic.Int64  // when they begin nothing more, in the world's time
	w        *sim.World
	harness  *sim.Host   // where the schedule and the harness's own client are
	out      *sim.Outlet // of what the schedule wants done

	mu    sync.Mutex
	jobs  []func()
	armed map[[2]string]string // faults that wait, by process and by point of the critical section
}

// planOf returns the plan of a scene.
func planOf(sc *scenario.Scenario) *plan {
	p := &plan{seed: sc.Seed, draws: sc.Seed, recipe: sc.RecipeOf(0), workload: sc.Workload, clients: sc.Clients,
		timeout: sc.SessionTimeout, tick: sc.Tick, delay: 2 * time.Millisecond, disk: 2 * time.Millisecond,
		reap: time.Minute, wait: sc.Wait, permits: 1, units: 1, reads: sc.ReadShare}
	p.guard, _ = guard.Find(sc.Guard)
	if sc.Workload == workloads.Semaphore {
		p.permits, p.units = sc.Permits, sc.Units
	}
	return p
}

// open reports whether clients may begin something.
func (s *scene) open() bool { return int64(s.w.Clock()) < s.closes.Load() }

// choose chooses the lock of a client's next acquisition.
func (s *scene) choose(c *client) string {
	if s.LockChoice.Dealt {
		return s.locks[c.number%s.Locks]
	}
	return s.locks[s.chooser.One(c.rand)]
}

// section is what a client of package workloads/client does in its critical section, with the same points at which
// faults strike. It reports whether nothing kept the client from that.
func (s *scene) section(c *client, h *claims.Hold) bool {
	work := s.Hold.Draw(c.rand)
	if s.Section == scenario.SectionNone {
		c.rest(work)
		return true
	}
	if _, ok := c.access(h, history.OpEnter, 0); !ok {
		return false
	}
	read, ok := c.access(h, history.OpRead, 0)
	if !ok {
		return false
	}
	last, point := lastAccess(h), control.BetweenReads
	if last == history.OpWrite {
		point = control.BetweenReadAndWrite
	}
	s.reach(c, point, h)
	if fault := s.waits(c, control.WithinHold); fault != "" {
		before := time.Duration(control.InstantOf(s.Seed, fault) * float64(work))
		c.rest(before)
		s.reach(c, control.WithinHold, h)
		work -= before
	}
	c.rest(work)
	if _, ok := c.access(h, last, read); !ok {
		return false
	}
	_, ok = c.access(h, history.OpExit, 0)
	return ok
}

// waits returns the fault that waits for a client's process to reach a point; empty if none does.
func (s *scene) waits(c *client, point string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.armed[[2]string{c.Host.Name, point}]
}

// reach stops the client's process, if a fault waits for it at this point.
func (s *scene) reach(c *client, point string, h *claims.Hold) {
	fault := s.waits(c, point)
	if fault == "" {
		return
	}
	s.disarm(fault)
	claim, slot := h.Use(h.Parts[0])
	c.Record(claim.Trigger(fault, point, slot))
	c.Outlet(func() { c.stand(c.Host.Name, true) }).Filled()
	c.rest(time.Microsecond) // which lasts as long as the process is stopped
}

func (s *scene) arm(fault, process, point string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.armed[[2]string{process, point}] = fault
}

func (s *scene) disarm(fault string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for at, f := range s.armed {
		if f == fault {
			delete(s.armed, at)
		}
	}
}

// do has the kernel call f, and returns when it has. The schedule's goroutines call it.
func (s *scene) do(f func()) {
	done := make(chan struct{})
	s.mu.Lock()
	s.jobs = append(s.jobs, func() {
		f()
		close(done)
	})
	s.mu.Unlock()
	s.out.Filled()
	<-done
}

// collect lets the kernel do what the schedule wants done, one job after the other.
func (s *scene) collect() {
	s.mu.Lock()
	jobs := s.jobs
	s.jobs = nil
	s.mu.Unlock()
	for i, f := range jobs {
		s.w.After(time.Duration(i+1)*time.Microsecond, s.harness, f)
	}
}

// A journal records what the schedule of a scene does.
type journal struct{ *simulation }

// Record implements [chaos.Journal].
func (j journal) Record(e history.Event) error {
	e.Process = rundir.HarnessHost
	if e.At == 0 {
		e.At = j.scene.clock.Now()
	}
	j.rec.add(e)
	return nil
}

// of returns the clients of a process.
func (s *simulation) of(process string) []*client {
	return slices.DeleteFunc(slices.Clone(s.clients), func(c *client) bool { return c.Host.Name != process })
}
