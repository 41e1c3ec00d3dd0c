// Package inlab has the commands that run inside a lab. Runs start them; users do not.
//
// In flow: the arguments, the environment and the standard input that the harness or an agent gives a process. Out
// flow: a host that is served until its lease lapses, or the history of a client process or of the protected resource.
package inlab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"locklab/ensembles/agent"
	"locklab/ensembles/agent/serve"
	"locklab/ensembles/netns"
	"locklab/ensembles/reach"
	"locklab/harness/console"
	"locklab/workloads/client"
	"locklab/workloads/control"
	"locklab/workloads/resource"
)

// Commands are the commands of this package, as kong parses a command line. No help lists them.
type Commands struct {
	Agent     Agent     `cmd:"" hidden:"" help:"Run the first process on a host of a lab."`
	Install   Install   `cmd:"" hidden:"" help:"Copy this binary to a path in a pod."`
	NetnsLab  NetnsLab  `cmd:"" hidden:"" help:"Start the hosts of a lab of network namespaces."`
	NetnsHost NetnsHost `cmd:"" hidden:"" help:"Become a host of a lab of network namespaces."`
	Client    Client    `cmd:"" hidden:"" help:"Run a client process of a lab."`
	Resource  Resource  `cmd:"" hidden:"" help:"Run the protected resource of a lab."`
	Protocol  Protocol  `cmd:"" hidden:"" help:"Print which protocols this binary's processes speak."`
}

// An Agent is the first process on a host.
type Agent struct{}

// Run serves a host until the lease lapses. The agent's configuration comes from its environment, because its container
// was created with it.
func (Agent) Run(ctx context.Context, std console.Streams, log *slog.Logger) error {
	lease, err := time.ParseDuration(os.Getenv(agent.EnvLease))
	if err != nil || os.Getenv(agent.EnvSecret) == "" || os.Getenv(agent.EnvHost) == "" {
		return fmt.Errorf("agent: %s, %s and %s must be set; agents are started by a run, not by hand", agent.EnvHost,
			agent.EnvSecret, agent.EnvLease)
	}
	cfg := serve.Config{Host: os.Getenv(agent.EnvHost), Secret: os.Getenv(agent.EnvSecret), Lease: lease,
		Root: agent.DataDir, Listen: fmt.Sprintf(":%d", agent.Port), Log: log}
	if cfg.Control, err = inherited(agent.EnvControl); err != nil {
		return err
	}
	if cfg.Published, err = inherited(agent.EnvPublished); err != nil {
		return err
	}
	if os.Getenv(agent.EnvSurroundings) != "" {
		return asProcess(ctx, std.In, cfg)
	}
	if text := os.Getenv(agent.EnvElsewhere); text != "" {
		if err := json.Unmarshal([]byte(text), &cfg.Elsewhere); err != nil {
			return fmt.Errorf("%s: %w", agent.EnvElsewhere, err)
		}
		if cfg.Elsewhere.Server != "" { // hosts of the lab reach it where a server of the lab would be
			if cfg.Published, err = net.Listen("tcp", fmt.Sprintf(":%d", agent.ClientPort)); err != nil {
				return err
			}
		}
	}
	return serve.Run(ctx, cfg)
}

// asProcess serves a host that is a mere process of this machine, until its input ends. Nothing of the host is left.
func asProcess(ctx context.Context, in io.Reader, cfg serve.Config) error {
	var s agent.Surroundings
	input := json.NewDecoder(in)
	if err := input.Decode(&s); err != nil {
		return fmt.Errorf("agent: %w", err)
	}
	cfg.Surroundings, cfg.Elsewhere, cfg.Root = &s, s.Elsewhere, s.Dir
	cfg.Listen = netip.AddrPortFrom(s.Address, 0).String()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // ends with the process
		var more json.RawMessage
		_ = input.Decode(&more) // the harness says nothing more, and closes the pipe when it ends
		cancel()
	}()
	err := errors.Join(serve.Run(ctx, cfg), os.RemoveAll(s.Dir))
	_ = os.Remove(filepath.Dir(s.Dir)) // the last agent of the lab succeeds
	return err
}

// inherited returns the socket whose number a variable has; nil if the variable is not set.
func inherited(name string) (net.Listener, error) {
	text := os.Getenv(name)
	if text == "" {
		return nil, nil
	}
	fd, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	l, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return l, nil
}

// An Install puts this binary into a pod.
type Install struct {
	To string `arg:"" help:"Path."`
}

// Run copies this binary into a pod whose own image lacks it.
func (c Install) Run() error {
	b, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return err
	}
	return os.WriteFile(c.To, b, 0o755)
}

// A NetnsLab is the parent of the hosts of a lab of network namespaces.
type NetnsLab struct{}

// Run starts the hosts of a lab of network namespaces.
func (NetnsLab) Run(std console.Streams) error { return netns.RunLab(std.In, std.Out) }

// A NetnsHost is a host of a lab of network namespaces, before its agent runs.
type NetnsHost struct{}

// Run becomes the agent of a host in namespaces of its own.
func (NetnsHost) Run(std console.Streams) error { return netns.RunHost(std.In) }

// A Client is a client process.
type Client struct {
	Config string `arg:"" help:"Configuration file."`
}

// Run runs a client process, in its working directory.
func (c Client) Run(ctx context.Context, std console.Streams, log *slog.Logger) error {
	cfg, err := readConfig[control.ClientConfig](c.Config)
	if err != nil {
		return err
	}
	if cfg.Classes != "" && !cfg.Observe {
		if cfg.Command, err = serve.CommandLine(cfg.Command, cfg.Classes); err != nil {
			return err
		}
	}
	cfg.Credential = reach.Secret(os.Getenv(agent.EnvCredential))
	if text := os.Getenv(agent.EnvTLS); text != "" {
		if err := json.Unmarshal([]byte(text), &cfg.TLS); err != nil {
			return fmt.Errorf("%s: %w", agent.EnvTLS, err)
		}
	}
	if err := errors.Join(os.Unsetenv(agent.EnvCredential), os.Unsetenv(agent.EnvTLS)); err != nil {
		return err
	}
	return client.Run(ctx, cfg, agent.ProcessHistoryDir, std.In, log)
}

// A Protocol tells which protocols this binary speaks.
type Protocol struct{}

// Run prints which protocols this binary's processes speak. A benchmark asks for them before it runs the processes of
// two binaries side by side.
func (Protocol) Run(std console.Streams) error {
	return json.NewEncoder(std.Out).Encode(map[string]int{"client": control.Protocol})
}

// A Resource is what the locks protect.
type Resource struct {
	Config string `arg:"" help:"Configuration file."`
}

// Run serves the resource until the agent ends it, in its working directory.
func (c Resource) Run(ctx context.Context) error {
	cfg, err := readConfig[control.ResourceConfig](c.Config)
	if err != nil {
		return err
	}
	return resource.Serve(ctx, cfg, agent.ProcessHistoryDir)
}

// readConfig reads a configuration, and refuses keys that this binary does not know. The harness may be another binary.
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
