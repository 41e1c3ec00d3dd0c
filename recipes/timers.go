package recipes

import (
	"time"

	"locklab/recipes/zksession"
)

// timers starts a session's timers; nil stands for those of package time. A simulation has others, which stand still
// while the simulated process is paused. The time itself needs no such seam: a process that stands still does not ask.
type timers func(d time.Duration, f func()) zksession.Timer

// start is [time.AfterFunc].
func (t timers) start(d time.Duration, f func()) zksession.Timer {
	if t == nil {
		return time.AfterFunc(d, f)
	}
	return t(d, f)
}

// channel returns a timer and a channel that receives, like that of [time.NewTimer], when the timer is due.
func (t timers) channel(d time.Duration) (zksession.Timer, <-chan struct{}) {
	due := make(chan struct{}, 1)
	return t.start(d, func() {
		select {
		case due <- struct{}{}:
		default: // it was due before, and nobody has looked
		}
	}), due
}

// after is [time.After].
func (t timers) after(d time.Duration) <-chan struct{} {
	_, due := t.channel(d)
	return due
}
