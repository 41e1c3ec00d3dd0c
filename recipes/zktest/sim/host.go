package sim

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"
)

// A Host is a machine with one process, which can be paused. It belongs to one world.
type Host struct {
	// Name is the host's, such as c1.
	Name string

	w      *World
	rank   int
	runs   bool // it has goroutines
	paused bool
	held   []*event // what was due meanwhile, and what is due while that is made up for
	late   bool     // it makes up for what was due
	// outlets counts those that were made.
	outlets int
	guids   atomic.Uint64 // that were made
}

// Host returns a new host for code with goroutines.
func (w *World) Host(name string) *Host {
	h := w.Machine(name)
	h.runs = true
	return h
}

// Machine returns a new host without goroutines: the kernel does what happens there.
func (w *World) Machine(name string) *Host {
	h := &Host{Name: name, w: w, rank: len(w.hosts)}
	w.hosts = append(w.hosts, h)
	return h
}

// World returns the host's world.
func (h *Host) World() *World { return h.w }

// Pause stops the host's code and timers, while time goes on.
func (h *Host) Pause() { h.paused = true }

// Paused reports whether it is paused.
func (h *Host) Paused() bool { return h.paused }

// Resume ends a pause. All that was due meanwhile happens now: each message and each timer in the order in which they
// were due. Whether the process finds its timers or its messages first is for the seed to decide.
func (h *Host) Resume() {
	h.paused = false
	held := h.held
	if first := h.w.Rand.IntN(3); first < 2 {
		slices.SortStableFunc(held, func(a, b *event) int {
			switch {
			case a.timer == b.timer:
				return 0
			case a.timer == (first == 0):
				return -1
			}
			return 1
		})
	}
	if len(held) > 0 && !h.late {
		h.late = true
		h.makeUp()
	}
}

// makeUp does what was due during a pause, one after the other. What is due meanwhile comes behind it.
func (h *Host) makeUp() {
	h.w.push(&event{at: h.w.Now() + time.Microsecond, runs: h.runs, do: func() {
		if h.paused {
			h.late = false
			return
		}
		n := 1
		for n < len(h.held) && h.held[0].with(h.held[n]) {
			n++
		}
		due := h.held[:n]
		h.held = h.held[n:]
		if h.late = len(h.held) > 0; h.late {
			h.makeUp()
		}
		for _, e := range due {
			e.do()
		}
	}})
}

// GUID returns a new identifier, the same in each execution of the seed if the host's goroutines ask for theirs in the
// same order. Any goroutine of the host may call it.
func (h *Host) GUID() string { return fmt.Sprintf("%08x-0000-0000-0000-%012x", h.rank, h.guids.Add(1)) }

// Do calls f now, or when the host is not paused any more.
func (h *Host) Do(f func()) { (&event{host: h, do: f, runs: h.runs}).happen() }

// A Timer calls a function once, unless it is stopped before. It is to a host what a [time.Timer] is to a process. Any
// goroutine may call its methods.
type Timer struct {
	h *Host
	f func()
	e *event
}

// AfterFunc calls f in its own goroutine when d has passed and the host is not paused. Any goroutine of the host may
// call it.
func (h *Host) AfterFunc(d time.Duration, f func()) *Timer {
	t := &Timer{h: h, f: f}
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	t.start(d)
	return t
}

// start starts the timer. The world's mutex is held.
func (t *Timer) start(d time.Duration) {
	e := &event{at: t.h.w.Clock() + max(d, 0), host: t.h, timer: true, runs: true}
	e.do = func() {
		t.h.w.mu.Lock()
		stopped := e.stopped
		e.stopped = true
		t.h.w.mu.Unlock()
		if !stopped {
			go t.f()
		}
	}
	t.e = e
	t.h.w.add(e)
	t.h.w.stir()
}

// Stop keeps the timer from calling its function, and reports whether it was in time.
func (t *Timer) Stop() bool {
	t.h.w.mu.Lock()
	defer t.h.w.mu.Unlock()
	was := !t.e.stopped
	t.e.stopped = true
	return was
}

// Reset starts the timer anew, and reports whether it was running.
func (t *Timer) Reset(d time.Duration) bool {
	t.h.w.mu.Lock()
	defer t.h.w.mu.Unlock()
	was := !t.e.stopped
	t.e.stopped = true
	t.start(d)
	return was
}

// Sleep returns when d has passed and the host is not paused, or ctx has ended. Any goroutine of the host may call it.
func (h *Host) Sleep(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	over := make(chan struct{})
	t := h.AfterFunc(d, func() { close(over) })
	defer t.Stop()
	select {
	case <-over:
	case <-ctx.Done():
	}
}

// stir tells the kernel, which may be asleep, that a host has acted.
func (w *World) stir() {
	select {
	case w.poke <- struct{}{}:
	default:
	}
}

// A turn is what a goroutine waits for.
type turn struct {
	host *Host
	key  string
	come chan struct{}
}

// Turn returns when all other goroutines are blocked, and no other one that waits for its turn comes before, by the
// key. Goroutines of a host that are woken at the same instant act in that order, whatever the scheduler does. Any
// goroutine of the host may call it.
func (h *Host) Turn(key string) {
	t := &turn{h, key, make(chan struct{})}
	h.w.mu.Lock()
	h.w.turns = append(h.w.turns, t)
	h.w.mu.Unlock()
	h.w.stir()
	<-t.come
}

// giveTurn lets the goroutine act whose turn it is, and reports whether there is one.
func (w *World) giveTurn() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.turns) == 0 {
		return false
	}
	first := 0
	for i, t := range w.turns {
		if cmp.Or(cmp.Compare(t.host.rank, w.turns[first].host.rank), cmp.Compare(t.key, w.turns[first].key)) < 0 {
			first = i
		}
	}
	close(w.turns[first].come)
	w.turns = slices.Delete(w.turns, first, first+1)
	return true
}

// An Outlet is where the goroutines of a host leave what they send, for the kernel to collect.
type Outlet struct {
	host    *Host
	rank    int
	collect func()
	waiting bool // guarded by the world's mutex
}

// Outlet returns a new outlet, from which the kernel collects by calling collect. While the host is paused, nothing is
// collected. Outlets of one host that are made at the same instant must be made by one goroutine.
func (h *Host) Outlet(collect func()) *Outlet {
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	h.outlets++
	return &Outlet{host: h, rank: h.outlets, collect: collect}
}

// Filled tells the kernel that there is something to collect. Any goroutine of the host may call it.
func (o *Outlet) Filled() {
	w := o.host.w
	w.mu.Lock()
	if !o.waiting {
		o.waiting = true
		w.pending = append(w.pending, o)
	}
	w.mu.Unlock()
	w.stir()
}

func (o *Outlet) take() {
	o.host.w.mu.Lock()
	o.waiting = false
	o.host.w.mu.Unlock()
	if o.host.paused || o.host.late {
		o.host.held = append(o.host.held, &event{host: o.host, do: o.collect, runs: true})
		return
	}
	o.collect()
}
