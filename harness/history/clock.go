package history

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// A Clock reads CLOCK_MONOTONIC, which all hosts of one machine share; see
// [ClockName] and [Clocks]. The zero Clock is not usable; see [NewClock].
type Clock struct {
	epoch  time.Time
	offset int64 // CLOCK_MONOTONIC at epoch, ns
}

// NewClock calibrates Go's monotonic reading against the raw clock. Both are
// CLOCK_MONOTONIC, but Go hides its origin; the calibration takes the tightest of
// several brackets, which is off by well under a microsecond.
func NewClock() Clock {
	best := Clock{}
	var width time.Duration = 1 << 62
	for range 32 {
		before := time.Now()
		raw := rawMonotonic()
		if w := time.Since(before); w < width {
			width = w
			best = Clock{epoch: before, offset: raw - int64(w)/2}
		}
	}
	return best
}

// ClockAt returns the clock of a simulation: at epoch it shows that many nanoseconds.
func ClockAt(epoch time.Time, shows int64) Clock { return Clock{epoch: epoch, offset: shows} }

// Now returns CLOCK_MONOTONIC in nanoseconds. It allocates nothing and may be
// called from any goroutine.
func (c Clock) Now() int64 { return c.offset + int64(time.Since(c.epoch)) }

// Time converts an instant of this clock to Go's time, for timers.
func (c Clock) Time(at int64) time.Time { return c.epoch.Add(time.Duration(at - c.offset)) }

// At converts Go's time, if it carries a monotonic reading, to this clock.
func (c Clock) At(t time.Time) int64 { return c.offset + int64(t.Sub(c.epoch)) }

func rawMonotonic() int64 {
	const clockMonotonic = 1
	var ts syscall.Timespec
	_, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&ts)), 0)
	if errno != 0 {
		panic("read CLOCK_MONOTONIC: " + errno.Error()) // every Linux has it
	}
	return ts.Nano()
}

// ClockName names the clock that a [Clock] of this process reads. Two processes whose clocks have the same name read
// the same clock: they run on one kernel since one boot, in one time namespace. It is empty where the kernel does not
// tell, which proves nothing.
//
// It fails where children of this process would have another clock than the process itself, because a host's agent and
// its process must have one.
func ClockName() (string, error) { return clockName(os.DirFS("/proc")) }

func clockName(proc fs.FS) (string, error) {
	boot, err := fs.ReadFile(proc, "sys/kernel/random/boot_id")
	if err != nil {
		return "", nil
	}
	own, err := fs.ReadLink(proc, "self/ns/time")
	if errors.Is(err, fs.ErrNotExist) {
		return strings.TrimSpace(string(boot)), nil // a kernel without time namespaces has one clock
	}
	children, forChildren := fs.ReadLink(proc, "self/ns/time_for_children")
	switch {
	case err != nil || forChildren != nil:
		return "", nil
	case own != children:
		return "", fmt.Errorf("children of this process have another clock (%s, and not %s); enter a time namespace with a "+
			"fork, as unshare --time --fork does", children, own)
	}
	return strings.TrimSpace(string(boot)) + " " + own, nil
}
