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

// keepLease renews an agent's lease until the lab is closed. It warns once when an agent that has answered falls
// silent, and says when the agent answers again. An agent that has not answered yet is still starting, and awaitAgents
// gives it up in time.
func keepLease(
	ctx context.Context, host string, renew func(context.Context) (agent.Stamp, error), log *slog.Logger) {
	t := time.NewTicker(renewEvery)
	defer t.Stop()
	heard, silent := false, false
	for {
		// The loop waits first, because awaitAgents has renewed the lease or is about to.
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
		once, cancel := context.WithTimeout(ctx, Lease/2)
		_, err := renew(once)
		cancel()
		switch {
		case err == nil && silent:
			log.Info("the agent answers again", "host", host)
			fallthrough
		case err == nil:
			heard, silent = true, false
		case heard && !silent && ctx.Err() == nil:
			log.Warn("the agent's lease cannot be renewed", "host", host, "err", err)
			silent = true
		}
	}
}
