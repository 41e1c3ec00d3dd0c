package scenario

import (
	"time"

	"locklab/harness/settings"
)

// A RoundTrip is how far the clients of a run are from its servers. The zero value means as far as in the lab itself.
type RoundTrip struct {
	// Relayed says that all clients' connections pass through relays, for which a request and its answer take Added
	// longer. A relay takes time itself, so 0 makes runs with and without a delay comparable.
	Relayed bool
	Added   time.Duration
}

// maxRoundTrip is more than packets take on the Earth.
const maxRoundTrip = time.Second

// String writes the round trip as Set reads it.
func (r *RoundTrip) String() string {
	if !r.Relayed {
		return ""
	}
	return settings.FormatDuration(r.Added)
}

// Set reads a duration. An empty text means that there are no relays.
func (r *RoundTrip) Set(text string) (err error) {
	if *r = (RoundTrip{Relayed: text != ""}); !r.Relayed {
		return nil
	}
	if r.Added, err = settings.ParseDuration(text); err == nil && (r.Added < 0 || r.Added > maxRoundTrip) {
		err = settings.Errorf("from 0s to "+settings.FormatDuration(maxRoundTrip), "round-trip of %s is out of range", r)
	}
	return err
}

// Schema implements [settings.Schemer].
func (RoundTrip) Schema() settings.Schema { return settings.DurationSchema() }
