package sim

import (
	"cmp"
	"container/heap"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A World is one simulation. Its methods are for the function that [Run] calls, and for functions that the World
// calls; those that any goroutine of the simulation may call say so.
type World struct {
	// Rand decides everything that the seed decides; see [World.Stream]. Only the kernel's goroutine draws from it.
	Rand *rand.Rand
	// Settle, if set, is called after each event.
	Settle func()

	seed  uint64
	forks time.Duration // when another seed begins to decide; 0 = never
	fork  uint64
	base  time.Time
	now   time.Duration // of the kernel; see ahead
	timer *time.Timer
	poke  chan struct{} // capacity 1: a host has acted by itself
	hosts []*Host

	mu      sync.Mutex
	queue   queue
	number  uint64
	pending []*Outlet // with something to collect
	turns   []*turn   // that goroutines wait for
}

// Run calls f in a world of its own, and returns when f has returned and all goroutines that were started in the world
// have ended. It panics if some never do. Several worlds can run at the same time.
func Run(seed uint64, f func(*World)) {
	synctest.Test(new(testing.T), func(*testing.T) {
		w := &World{seed: seed, base: time.Now(), poke: make(chan struct{}, 1)}
		w.Rand = w.Stream(0, w.Now)
		w.timer = time.NewTimer(time.Hour)
		defer w.timer.Stop()
		f(w)
	})
}

// Fork makes another seed decide all that happens from an instant on. It is called before anything has happened.
func (w *World) Fork(at time.Duration, seed uint64) { w.forks, w.fork = at, seed }

// Stream returns a source of randomness. What it gives at an instant, which clock tells, depends on the seed, the
// number and the instant alone, and not on what was drawn before. So a run in which something is left out goes on as it
// did before, wherever that makes no difference. The number is below 256, and 0 is the kernel's.
func (w *World) Stream(number uint64, clock func() time.Duration) *rand.Rand {
	return rand.New(&stream{w: w, number: number, clock: clock, at: -1})
}

type stream struct {
	w      *World
	number uint64
	clock  func() time.Duration
	at     time.Duration // of the last draw
	pcg    rand.PCG
}

func (s *stream) Uint64() uint64 {
	if now := s.clock(); now != s.at {
		seed := s.w.seed
		if s.w.forks > 0 && now >= s.w.forks {
			seed = s.w.fork
		}
		s.at = now
		s.pcg.Seed(seed, uint64(now)<<8|s.number)
	}
	return s.pcg.Uint64()
}

// Clock returns the time since the world began, for the goroutines of hosts.
func (w *World) Clock() time.Duration { return time.Since(w.base) }

// Now returns the time since the world began, for the kernel, which may be ahead of the hosts' goroutines by up to a
// millisecond: what happens in the network and at hosts without goroutines need not wait for the clock of the bubble,
// which costs more than most of these events. What a host sends meanwhile takes that much longer.
func (w *World) Now() time.Duration { return w.now }

// ahead is how far the kernel may be ahead of the hosts.
const ahead = time.Millisecond

// Between draws a length of time.
func (w *World) Between(least, most time.Duration) time.Duration {
	return least + time.Duration(w.Rand.Int64N(int64(most-least)+1))
}

// At makes the kernel call f at an instant, or now if that is over. Host is where it happens: it waits while that is
// paused. It is nil for what no host can hold up. f may wake goroutines of that host only.
func (w *World) At(at time.Duration, host *Host, f func()) {
	w.push(&event{at: at, host: host, do: f, runs: host != nil && host.runs})
}

// Reach makes the kernel call f at an instant when a message reaches a host, even if that is paused.
func (w *World) Reach(at time.Duration, host *Host, f func()) {
	w.push(&event{at: at, do: f, runs: host.runs})
}

// After is At, counted from now.
func (w *World) After(d time.Duration, host *Host, f func()) { w.At(w.Now()+d, host, f) }

func (w *World) push(e *event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.add(e)
}

// add adds an event. w.mu is held.
func (w *World) add(e *event) {
	w.number++
	e.number = w.number
	heap.Push(&w.queue, e)
}

// Until carries out, in order, what happens until an instant, and returns then.
func (w *World) Until(at time.Duration) {
	w.settle()
	for {
		clock := w.Clock()
		w.now = max(w.now, clock)
		w.mu.Lock()
		e := w.queue.first()
		due := e != nil && e.at <= at && (e.at <= clock || !e.runs && e.at <= clock+ahead)
		var too []*event
		if due {
			heap.Pop(&w.queue)
			for next := w.queue.first(); e.with(next); next = w.queue.first() {
				too = append(too, heap.Pop(&w.queue).(*event))
			}
		}
		w.mu.Unlock()
		switch {
		case due:
			w.now = max(w.now, e.at)
			e.happen()
			for _, also := range too {
				also.happen()
			}
			if w.Settle != nil {
				w.Settle()
			}
			if e.runs {
				w.settle()
			}
		case clock >= at:
			return
		case e != nil && e.at < at:
			w.sleep(e.at - clock)
		default:
			w.sleep(at - clock)
		}
	}
}

// sleep returns when d has passed, or a host has acted by itself.
func (w *World) sleep(d time.Duration) {
	w.timer.Reset(d)
	select {
	case <-w.timer.C:
	case <-w.poke:
	}
	w.settle() // a timer of the bubble may have woken others
}

// settle waits until all goroutines are blocked, gives each that waits for it its turn, and collects what they have
// sent.
func (w *World) settle() {
	synctest.Wait()
	for w.giveTurn() {
		synctest.Wait()
	}
	select {
	case <-w.poke:
	default:
	}
	w.mu.Lock()
	all := w.pending
	w.pending = nil
	w.mu.Unlock()
	slices.SortFunc(all, func(a, b *Outlet) int {
		return cmp.Or(cmp.Compare(a.host.rank, b.host.rank), cmp.Compare(a.rank, b.rank))
	})
	for _, o := range all {
		o.take()
	}
}

// An event is something that happens at an instant.
type event struct {
	at      time.Duration
	number  uint64
	host    *Host
	do      func()
	timer   bool // it is a host's own, and not a message to it
	runs    bool // it may wake goroutines
	stopped bool // guarded by the world's mutex
}

// with reports whether an event happens together with another one: both are timers of a host that are due at the same
// instant. Goroutines that one stimulus woke may have started them, in an order that was the scheduler's, so that only
// the turns that they take then can order them.
func (e *event) with(other *event) bool {
	return other != nil && e.timer && other.timer && e.host == other.host && e.at == other.at
}

// happen carries out an event, unless its host is paused, or has others to make up for.
func (e *event) happen() {
	if h := e.host; h != nil && (h.paused || h.late) {
		h.held = append(h.held, e)
		return
	}
	e.do()
}

// A queue has events by time; at one instant, by number.
type queue []*event

func (q queue) first() *event {
	if len(q) == 0 {
		return nil
	}
	return q[0]
}

func (q queue) Len() int { return len(q) }

func (q queue) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].number < q[j].number
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

func (q *queue) Push(e any) { *q = append(*q, e.(*event)) }

func (q *queue) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return e
}
