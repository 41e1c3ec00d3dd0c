package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"time"

	"locklab/ensembles/agent"
	"locklab/workloads/client"
	"locklab/workloads/resource"
)

// The commands that run inside a lab. They are started by a run, not by hand.

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

type clientCmd struct {
	Config string `arg:"" help:"Configuration file."`
}

// Run is a client process's life, in its working directory.
func (c clientCmd) Run(ctx context.Context, std streams, log *slog.Logger) error {
	cfg, err := readConfig[client.Config](c.Config)
	if err != nil {
		return err
	}
	if cfg.Classes != "" && !cfg.Observe {
		if cfg.Command, err = agent.CommandLine(cfg.Command, cfg.Classes); err != nil {
			return err
		}
	}
	return client.Run(ctx, cfg, agent.ProcessHistoryDir, std.In, log)
}

type protocolCmd struct{}

// Run says which protocols this binary's processes speak, to a benchmark that is to run them
// beside another's.
func (protocolCmd) Run(std streams) error {
	return json.NewEncoder(std.Out).Encode(map[string]int{"client": client.Protocol})
}

type resourceCmd struct {
	Config string `arg:"" help:"Configuration file."`
}

// Run serves the resource until it is told to end, in its working directory.
func (c resourceCmd) Run(ctx context.Context) error {
	cfg, err := readConfig[resource.Config](c.Config)
	if err != nil {
		return err
	}
	return resource.Serve(ctx, cfg, agent.ProcessHistoryDir)
}

// readConfig refuses what this binary does not know: the harness may be another.
func readConfig[T any](path string) (T, error) {
	var cfg T
	b, err := os.ReadFile(path)
	if err != nil {
		return cfg, err
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&cfg); err != nil {
		return cfg, fmt.Errorf("%s: %w", path, err)
	}
	return cfg, nil
}
