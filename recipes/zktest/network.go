package zktest

import (
	"slices"
	"time"

	"locklab/recipes/zktest/sim"
)

// A lane carries messages from one host to another, in their order.
type lane struct {
	e        *Ensemble
	from, to *sim.Host
	last     time.Duration // when the last message arrives
	stash    []func()      // messages that a cut holds up
	awake    bool          // a machine answers them although its process is paused
}

// send lets a message arrive in a while, which calls do.
func (l *lane) send(do func()) {
	l.last = max(l.e.w.Now()+l.e.delay(), l.last+1)
	l.e.w.Reach(l.last, l.to, func() {
		if l.e.cuts[[2]*sim.Host{l.from, l.to}] > 0 || len(l.stash) > 0 {
			if len(l.stash) == 0 {
				l.e.stash = append(l.e.stash, l)
			}
			l.stash = append(l.stash, do)
			return
		}
		l.arrive(do)
	})
}

func (l *lane) arrive(do func()) {
	if l.awake {
		do()
		return
	}
	l.to.Do(do)
}

// delay draws that of a message.
func (e *Ensemble) delay() time.Duration {
	d := e.w.Between(e.cfg.Delay/10, e.cfg.Delay)
	if e.w.Rand.IntN(100) == 0 {
		d *= 10
	}
	return d
}

// Cut keeps messages from getting from one host to another until Heal. Several cuts need as many heals.
func (e *Ensemble) Cut(from, to *sim.Host) { e.cuts[[2]*sim.Host{from, to}]++ }

// Heal undoes a Cut. What was sent meanwhile arrives within a second, as far as its connection still exists.
func (e *Ensemble) Heal(from, to *sim.Host) {
	key := [2]*sim.Host{from, to}
	if e.cuts[key]--; e.cuts[key] > 0 {
		return
	}
	e.stash = slices.DeleteFunc(e.stash, func(l *lane) bool {
		if l.from != from || l.to != to {
			return false
		}
		e.w.Reach(e.w.Now()+e.w.Between(0, time.Second), l.to, l.drain)
		return true
	})
}

// drain delivers what a cut held up, unless there is another one by now.
func (l *lane) drain() {
	if l.e.cuts[[2]*sim.Host{l.from, l.to}] > 0 {
		l.e.stash = append(l.e.stash, l)
		return
	}
	stash := l.stash
	l.stash = nil
	for _, do := range stash {
		l.arrive(do)
	}
}

// reaches reports whether two hosts can send to each other.
func (e *Ensemble) reaches(a, b *sim.Host) bool {
	return e.cuts[[2]*sim.Host{a, b}] == 0 && e.cuts[[2]*sim.Host{b, a}] == 0
}
