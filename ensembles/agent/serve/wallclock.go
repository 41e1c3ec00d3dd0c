package serve

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"locklab/ensembles/agent"
)

// clockFile, below agent.DataDir, says how far the process's wall clock is set off. The library reads it each time the
// process asks for the time.
const clockFile = "wall-clock"

// clockPlaces are the paths at which an image may have libfaketime, in the variant for programs with threads.
var clockPlaces = []string{
	"usr/lib/*/faketime/libfaketimeMT.so.1", "usr/lib/faketime/libfaketimeMT.so.1",
	"usr/local/lib/faketime/libfaketimeMT.so.1", "usr/lib64/faketime/libfaketimeMT.so.1",
}

// findClock returns the library that sets the wall clock of a single process.
func findClock(root fs.FS) (string, error) {
	for _, p := range clockPlaces {
		if found, err := fs.Glob(root, p); err == nil && len(found) > 0 {
			return "/" + found[0], nil
		}
	}
	return "", fmt.Errorf("%w: %s: the image has no libfaketime, which sets the wall clock of a single process",
		agent.ErrUnsupported, agent.CapFaketime)
}

// clockEnv returns the environment of a process whose wall clock can be set. CLOCK_MONOTONIC is not changed, because
// histories depend on it.
func clockEnv(library, root string) []string {
	return []string{
		"LD_PRELOAD=" + library, "FAKETIME_TIMESTAMP_FILE=" + filepath.Join(root, clockFile), "FAKETIME_NO_CACHE=1",
		"FAKETIME_DONT_FAKE_MONOTONIC=1", "DONT_FAKE_MONOTONIC=1", "FAKETIME_DONT_RESET=1",
		// Debian builds the library with a workaround for an old C library. With it, pthread_cond_timedwait returns at
		// once, so that a JVM spins and its server does not serve.
		"FAKETIME_FORCE_MONOTONIC_FIX=0",
	}
}

// maxStep is how far a clock may be set off, which is enough for everything that a wrong clock breaks.
const maxStep = 10 * 365 * 24 * time.Hour

// setClock sets the wall clock of the host's process off by offset; 0 sets it right.
func (s *supervisor) setClock(offset time.Duration) (agent.Stamp, error) {
	if offset.Abs() > maxStep {
		return agent.Stamp{}, fmt.Errorf("clock: %v is more than %v", offset, maxStep)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.alive():
		return agent.Stamp{}, agent.ErrNoProcess
	case !s.spec.Clock:
		return agent.Stamp{}, errors.New("clock: the process was not started with a wall clock of its own")
	}
	if err := writeClock(s.root, offset); err != nil {
		return agent.Stamp{}, fmt.Errorf("clock: %w", err)
	}
	s.status.ClockOffset = offset
	return agent.Stamp{At: s.rec.Clock().Now()}, nil
}

// writeClock replaces the file atomically, so that a process never reads part of it.
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
