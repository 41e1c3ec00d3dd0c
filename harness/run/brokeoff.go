package run

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"locklab/ensembles"
	"locklab/harness/fail"
	"locklab/harness/rundir"
)

// ErrBrokeOff says that a run broke off, and that the reason lies outside locklab: with the lock under test, the
// servers or the machine. What was recorded until then stays, and its verdict is unknown.
var ErrBrokeOff = fail.Unknown.New("the run broke off")

// An endedError says that the process of a host has ended although nobody meant it to.
type endedError struct {
	text    string
	log     string // in the run directory
	outside bool   // see [ErrBrokeOff]
}

func (e *endedError) Error() string { return fmt.Sprintf("%s (its log is in %s)", e.text, e.log) }

// Is lets [errors.Is] find [ErrBrokeOff].
func (e *endedError) Is(target error) bool { return e.outside && errors.Is(ErrBrokeOff, target) }

// ended returns the error that the process of a host has ended although nobody meant it to. how is what its agent says
// of that.
func (r *run) ended(h *ensembles.Host, how string) error {
	e := &endedError{log: rundir.LogPath(h.Name), outside: true}
	switch {
	case strings.Contains(how, "signal: killed"):
		e.text = fmt.Sprintf("somebody killed the process of %s; the kernel does so when the machine or the host has no "+
			"memory left", h.Name)
	case h.Role == ensembles.Client && r.foreign():
		e.text = fmt.Sprintf("the driver of recipe %s failed on %s: %s", r.sc.Recipe, h.Name, how)
	case h.Role == ensembles.Client && r.client != ownBinary:
		e.text = fmt.Sprintf("the process of %s, of another binary, ended by itself: %s", h.Name, how)
	default:
		e.text, e.outside = fmt.Sprintf("the process of %s ended by itself: %s", h.Name, how), false
	}
	return e
}

// foreign reports whether clients of the run use a lock that is not built into locklab.
func (r *run) foreign() bool { return foreignVersion(r.stage.foreign[r.sc.Recipe]) != "" }

// lastWords adds to an error about a process that has ended what the process wrote last. Its log has been fetched.
func (r *run) lastWords(err error) error {
	e, ok := errors.AsType[*endedError](err)
	if !ok {
		return err
	}
	log, _ := os.ReadFile(filepath.Join(r.dir, e.log)) // without it, the error says less
	if last := ensembles.LastLines(string(log), 1); last != "" {
		return fmt.Errorf("%w: %s", err, last)
	}
	return err
}
