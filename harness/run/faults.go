package run

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	"locklab/chaos"
	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/harness/history"
	"locklab/harness/scenario"
	"locklab/harness/watch"
	"locklab/workloads/control"
)

// faultRun returns the run as its faults see it.
func (r *run) faultRun() *chaos.Run {
	return &chaos.Run{Setting: r.sc.FaultSetting(), Seed: r.sc.Seed,
		Lab: r.stage.lab, Ensemble: r.stage.ensemble, Clients: r.clientHosts(), Lock: r.locks[0],
		Clock: r.stage.clock, Journal: r.rec, Witness: r.view, Roles: r.view, Sessions: r.view, Commands: commands{},
		Superseded: r.view.Superseded, Process: r.process, Relay: r.relayOf, Away: r.view.Absent}
}

// commands formats the lines by which client processes are told to stop, or to harm themselves otherwise.
type commands struct{}

// Arm implements [chaos.Commands].
func (commands) Arm(fault, point, action string) string {
	if action == chaos.StrikeStop {
		return control.FormatArm(fault, point)
	}
	return control.FormatArmTo(fault, point, action)
}

// Strike implements [chaos.Commands].
func (commands) Strike(fault, action, of string) string {
	return control.FormatStrike(fault, action, of)
}

// Undo implements [chaos.Commands].
func (commands) Undo(fault, action string) string {
	if action == chaos.StrikeMove {
		return control.FormatSettle(fault)
	}
	return control.FormatDisarm(fault)
}

// A link is the connection from a client's host to a server.
type link struct{ client, server *ensembles.Host }

// relay makes a client process connect to relays instead of the servers if a fault delays packets and the kernel cannot
// do that.
func (r *run) relay(ctx context.Context, h *ensembles.Host, cfg *control.ClientConfig) error {
	if !r.plan.Relayed() {
		return nil
	}
	lacks, err := h.Agent.Capabilities(ctx)
	if err != nil || lacks[agent.CapNetem] == "" {
		return err
	}
	through := make([]control.Server, len(cfg.Servers))
	for i, s := range cfg.Servers {
		server := r.stage.lab.Host(s.Name)
		at, err := h.Agent.Relay(ctx, server.Server, r.sc.Seed)
		if err != nil {
			return fmt.Errorf("relay of %s: %w", h.Name, err)
		}
		through[i] = control.Server{Name: s.Name, Address: at.String()}
		r.mu.Lock()
		r.relays[link{h, server}] = at
		r.mu.Unlock()
	}
	cfg.Servers = through
	return nil
}

// relayOf returns the address to which the process of a client's host connects instead of a server.
func (r *run) relayOf(client, server *ensembles.Host) (at netip.AddrPort, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, ok = r.relays[link{client, server}]
	return at, ok
}

// unsupported refuses a scenario whose faults need a capability that the machine is known to lack.
func unsupported(sc *scenario.Scenario, lacking map[string]string) error {
	if all := sc.Lacking(lacking); all != nil {
		return fmt.Errorf("%w: %s", chaos.ErrUnsupported, strings.Join(all, "; "))
	}
	return nil
}

var (
	_ chaos.Witness  = (*watch.View)(nil)
	_ chaos.Roles    = (*watch.View)(nil)
	_ chaos.Sessions = (*watch.View)(nil)
	_ chaos.Journal  = (*history.Recorder)(nil)
)
