package ensembles

import (
	"context"
	"log/slog"
	"time"

	"locklab/ensembles/agent"
)

// Lease is how long a lab's agents live without a renewal. After the harness was killed, everything of a run is gone
// within this time plus the time to remove it.
const Lease = 8 * time.Second

// renewEvery leaves room for several lost renewals within a lease.
const renewEvery = Lease / 8

// keepLease renews an agent's lease until the lab is closed.
func keepLease(ctx context.Context, host string, c *agent.Client, log *slog.Logger) {
	t := time.NewTicker(renewEvery)
	defer t.Stop()
	for {
		// The loop waits first, because awaitAgents has renewed the lease or is about to.
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
		once, cancel := context.WithTimeout(ctx, Lease/2)
		if _, err := c.Renew(once); err != nil && ctx.Err() == nil {
			log.Warn("renew lease", "host", host, "err", err)
		}
		cancel()
	}
}
