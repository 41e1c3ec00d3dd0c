package rundir

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Occupy marks the run in dir as one that lasts, until the function that it returns is called or this process ends,
// however it ends. The mark is a lock of the directory itself, which leaves nothing behind. On a file system that has
// no locks, the run is not marked.
func Occupy(dir string) (release func()) {
	d, err := os.Open(dir)
	if err != nil {
		return func() {}
	}
	for errors.Is(unix.Flock(int(d.Fd()), unix.LOCK_EX), unix.EINTR) {
	}
	return func() { d.Close() }
}

// Lasts reports whether the run in the directory d lasts: whether a process on this machine has marked it by [Occupy].
func Lasts(d *os.File) bool {
	err := unix.Flock(int(d.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if err == nil {
		err = unix.Flock(int(d.Fd()), unix.LOCK_UN)
	}
	return errors.Is(err, unix.EWOULDBLOCK)
}
