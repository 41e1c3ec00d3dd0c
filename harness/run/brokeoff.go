package run

import (
	"errors"
	"fmt"
	"strings"

	"locklab/ensembles"
	"locklab/harness/rundir"
)

// ErrBrokeOff says that a run broke off, and that the reason lies outside locklab: with the lock under test, the
// servers or the machine. What was recorded until then stays, and its verdict is unknown.
var ErrBrokeOff = errors.New("the run broke off")

// ended returns the error that the process of a host has ended although nobody meant it to. how is what its agent says
// of that.
func (r *run) ended(h *ensembles.Host, how string) error {
	log := "its log is in " + rundir.LogPath(h.Name)
	switch {
	case strings.Contains(how, "signal: killed"):
		return fmt.Errorf("%w: somebody killed the process of %s; the kernel does so when the machine or the host has no "+
			"memory left (%s)", ErrBrokeOff, h.Name, log)
	case h.Role == ensembles.Client && r.foreign():
		return fmt.Errorf("%w: the driver of recipe %s failed on %s: %s (%s)", ErrBrokeOff, r.sc.Recipe, h.Name, how, log)
	case h.Role == ensembles.Client && r.client != ownBinary:
		return fmt.Errorf("%w: the process of %s, of another binary, ended by itself: %s (%s)", ErrBrokeOff, h.Name, how,
			log)
	}
	return fmt.Errorf("the process of %s ended by itself: %s (%s)", h.Name, how, log)
}

// foreign reports whether clients of the run use a lock that is not built into locklab.
func (r *run) foreign() bool { return foreignVersion(r.stage.foreign[r.sc.Recipe]) != "" }
