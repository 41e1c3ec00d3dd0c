package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// clockFile holds what the process's wall clock is set off by, below DataDir. The
// library reads it each time that the process asks for the time.
const clockFile = "wall-clock"

// clockPlaces are where libfaketime is looked for, in an image's root: the variant for programs with
// threads.
var clockPlaces = []string{"usr/lib/*/faketime/libfaketimeMT.so.1", "usr/lib/faketime/libfaketimeMT.so.1", "usr/local/lib/faketime/libfaketimeMT.so.1", "usr/lib64/faketime/libfaketimeMT.so.1"}

// findClock returns the library by which a process's wall clock can be set.
func findClock(root fs.FS) (string, error) {
	for _, p := range clockPlaces {
		if found, err := fs.Glob(root, p); err == nil && len(found) > 0 {
			return "/" + found[0], nil
		}
	}
	return "", fmt.Errorf("%w: %s: the image has no libfaketime, by which one process's wall clock is set", ErrUnsupported, CapFaketime)
}

// clockEnv is what a process is started with so that its wall clock can be set, and its alone.
// CLOCK_MONOTONIC stays as it is: histories stand on it.
func clockEnv(library, root string) []string {
	return []string{"LD_PRELOAD=" + library, "FAKETIME_TIMESTAMP_FILE=" + filepath.Join(root, clockFile), "FAKETIME_NO_CACHE=1",
		"FAKETIME_DONT_FAKE_MONOTONIC=1", "DONT_FAKE_MONOTONIC=1", "FAKETIME_DONT_RESET=1",
		// The workaround for an old C library, which Debian's build has by default, ends waits by a
		// condition (pthread_cond_timedwait) at once: a JVM then spins, and its servers serve nobody.
		"FAKETIME_FORCE_MONOTONIC_FIX=0"}
}

// maxStep bounds how far a clock is set off: far enough for everything that goes wrong then.
const maxStep = 10 * 365 * 24 * time.Hour

// setClock sets the wall clock of the host's process off by offset; 0 sets it right.
func (s *supervisor) setClock(offset time.Duration) (Stamp, error) {
	if offset.Abs() > maxStep {
		return Stamp{}, fmt.Errorf("clock: %v is more than %v", offset, maxStep)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.alive():
		return Stamp{}, ErrNoProcess
	case !s.spec.Clock:
		return Stamp{}, errors.New("clock: the process was not started with a clock that can be set")
	}
	if err := writeClock(s.root, offset); err != nil {
		return Stamp{}, fmt.Errorf("clock: %w", err)
	}
	s.status.ClockOffset = offset
	return Stamp{At: s.rec.Clock().Now()}, nil
}

// writeClock replaces the file at once: a process must not read half of it.
func writeClock(root string, offset time.Duration) error {
	name := filepath.Join(root, clockFile)
	text := strconv.FormatFloat(offset.Seconds(), 'f', 9, 64)
	if offset >= 0 {
		text = "+" + text
	}
	if err := os.WriteFile(name+".new", []byte(text+"\n"), 0o644); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}
