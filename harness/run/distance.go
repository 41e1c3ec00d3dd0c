package run

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"locklab/ensembles"
)

const (
	// askEvery is the time between two questions to servers that have not answered, and askCap how long that goes on.
	askEvery = 100 * time.Millisecond
	askCap   = 20 * time.Second
	// askWait is how long an answer may take beside the round trip.
	askWait = time.Second
)

// verifyRoundTrip asks the servers through the relays of a client's host until all have answered. It reports an answer
// that came sooner than the scenario's round trip, because such a run would measure something else.
func (r *run) verifyRoundTrip(ctx context.Context, h *ensembles.Host) error {
	if !r.sc.RoundTrip.Relayed {
		return nil
	}
	var names []string
	var relays []netip.AddrPort
	for _, s := range r.stage.ensemble.Servers {
		if s == r.stage.ensemble.Silent {
			continue // it serves no clients
		}
		at, _ := r.relayOf(h, s) // it was made with the routes
		names, relays = append(names, s.Name), append(relays, at)
	}
	added := r.sc.RoundTrip.Added
	ctx, cancel := context.WithTimeout(ctx, askCap)
	defer cancel()
	var early error
	err := ensembles.Poll(ctx, askEvery, "answers to "+h.Name, func() (silent error) {
		res, err := h.Agent.AskProbe(ctx, added+askWait, relays...)
		if err != nil {
			return err
		}
		for i, why := range res.Errors {
			switch {
			case why != "":
				silent = fmt.Errorf("%s: %s", names[i], why)
			case res.Took[i] < added:
				early = fmt.Errorf("%s answered after %v", names[i], res.Took[i])
			}
		}
		if early != nil {
			return nil // asking again would not make it right
		}
		return silent
	})
	if err = errors.Join(early, err); err != nil {
		return fmt.Errorf("%w: the round trip of %v from %s cannot be verified: %w", ErrBrokeOff, added, h.Name, err)
	}
	return nil
}
