package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"locklab/ensembles/agent"
)

type agentCmd struct{}

// Run serves a host until the lease lapses. What the agent is comes from its
// environment, because its container was made with it.
func (agentCmd) Run(ctx context.Context, log *slog.Logger) error {
	lease, err := time.ParseDuration(os.Getenv(agent.EnvLease))
	if err != nil || os.Getenv(agent.EnvSecret) == "" || os.Getenv(agent.EnvHost) == "" {
		return fmt.Errorf("agent: %s, %s and %s must be set; agents are started by a run, not by hand", agent.EnvHost, agent.EnvSecret, agent.EnvLease)
	}
	return agent.Run(ctx, agent.Config{Host: os.Getenv(agent.EnvHost), Secret: os.Getenv(agent.EnvSecret), Lease: lease,
		Root: agent.DataDir, Listen: fmt.Sprintf(":%d", agent.Port), Log: log})
}
