//go:build locklab_slow

package recipes

import (
	"time"

	"golang.org/x/sys/unix"
)

// slowBy is how much later than asked for each queue's holder releases. Only a build made
// to be found slow has it:
//
//	go build -tags locklab_slow -ldflags '-X locklab/recipes.slowBy=400us'
var slowBy string

var slowness = func() time.Duration {
	d, err := time.ParseDuration(slowBy)
	if err != nil || d <= 0 {
		panic("recipes: a build with the tag locklab_slow needs -ldflags '-X locklab/recipes.slowBy=DURATION', not " + slowBy)
	}
	return d
}()

// slowHandoff waits in the kernel: Go's own timers wait for whole milliseconds where
// nothing else goes on, which is more than a hand-off may have to be slowed by.
func slowHandoff() {
	left := unix.NsecToTimespec(int64(slowness))
	for unix.Nanosleep(&left, &left) == unix.EINTR {
	}
}
