package chaos

import (
	"context"
	"errors"
	"slices"
	"strings"

	"locklab/ensembles/agent"
	"locklab/harness/history"
)

// ErrUnsupported is wrapped by the error of a fault that this machine cannot do,
// with the capability that it lacks; no harm was done then.
var ErrUnsupported = agent.ErrUnsupported

// ErrNobody is wrapped by the error of a fault that found nobody to hit, or nobody but those that another has hit
// already; no harm was done then either.
var ErrNobody = errors.New("nobody to hit")

// A Fault does one kind of harm to hosts that are already chosen.
//
// Inject returns once the harm is done, or an error if none was: what it may have
// done before it failed, or was interrupted, it has undone. What it returns must
// be healed even if verifying fails.
type Fault interface {
	Inject(ctx context.Context) (*Harm, error)
}

// Harm is a fault in force. Its functions may each be called several times.
type Harm struct {
	// At is when it took hold, in ns of CLOCK_MONOTONIC, as stamped by an agent.
	At int64
	// Hosts are the names of the hosts hit.
	Hosts []string
	// Verify reports, by looking for the effect, why the harm is not in force.
	Verify func(context.Context) error
	// Sessions and Nodes are what it was done to, if not to hosts: the sessions that were ended or driven
	// elsewhere, or the znodes' paths and the sessions whose they were. Empty for other harm.
	Sessions []history.SessionID
	Nodes    []string
	// Over waits until harm that takes its own time is done; nil for harm that lasts until it is healed.
	Over func(context.Context) error
	// Heal undoes it and returns when. It is nil for harm that is over as soon as it is
	// done, such as the reset of a connection.
	Heal func(context.Context) (at int64, err error)
	// VerifyHealed reports why the effect is not over, after waiting for that
	// within ctx. Of harm that is over at once, it is what the harm led to that passes: a
	// client has to connect anew.
	VerifyHealed func(context.Context) error
}

// done says what harm was done to, beside its hosts; of one session the event tells by itself.
func (h *Harm) done() string {
	what := slices.Clone(h.Nodes)
	if len(h.Sessions) > 1 {
		for _, s := range h.Sessions {
			what = append(what, s.String())
		}
	}
	return strings.Join(what, " ")
}
