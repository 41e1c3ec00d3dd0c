package chaos

import (
	"context"
	"fmt"
	"strings"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
)

func muteKind() Kind {
	return Kind{
		Name: "mute", Family: FamilySession, Targets: OnServer, Capability: agent.CapNetAdmin,
		Nature: evidence.FaultNature{Cause: evidence.CauseAdministrator},
		Does: "the server accepts its clients' connections and never answers on them; it treats the other servers " +
			"as always",
		Verified: "the host of each client process connects to the server, sends a request and gets no answer; " +
			"after healing, it gets one",
		Examples: []string{"target: zk1"},
		injector: onEach(func(r *Run, i injection, h *ensembles.Host) (Injector, error) {
			return mute{ends{i.id, h, r.Clients, r.Ensemble}}, nil
		}),
	}
}

// mute makes a server accept the connections of its peers, which are client processes, and never answer on them. What
// the server sends to them is dropped, except for packets that only keep the connection up. The other servers notice
// nothing.
type mute struct{ ends }

// Inject puts the rule in force. The fault strikes the server, and through it the sessions of all clients there.
func (m mute) Inject(ctx context.Context) (*Harm, error) {
	f := m.ruled(agent.Block{Direction: agent.Out, Ports: []uint16{agent.ClientPort}, Payload: true})
	f.hosts = []string{m.host.Name}
	// A server that is starting does not listen yet.
	f.shows = func(ctx context.Context) error {
		return ensembles.Poll(ctx, pollEvery, m.host.Name+" to be silent", func() error {
			return each(m.peers, func(c *ensembles.Host) error { return m.silent(ctx, f.rules, c) })
		})
	}
	f.free = func(ctx context.Context) error {
		return each(m.peers, func(c *ensembles.Host) error {
			asked, err := c.Agent.AskProbe(ctx, probeTimeout, server(m.host))
			if err == nil && asked.Errors[0] != "" {
				err = fmt.Errorf("%s does not answer %s: %s", m.host.Name, c.Name, asked.Errors[0])
			}
			return excuse(ctx, f.rules, hostLink{c, m.host}, err, nil)
		})
	}
	return f.Inject(ctx)
}

// silent connects from a client's host, sends a request, and reports why the server is not silent.
func (m mute) silent(ctx context.Context, own []rule, c *ensembles.Host) error {
	// If another fault cuts the link or has ended the server, there is no connection to test.
	broken := func(err error) error {
		if st, serr := m.host.Agent.Status(ctx); serr == nil && st.State == history.ProcessExited {
			return nil
		}
		return excuse(ctx, own, hostLink{c, m.host}, err, nil)
	}
	errs, err := c.Agent.Probe(ctx, probeTimeout, server(m.host))
	if err != nil {
		return err
	}
	if errs[0] != "" {
		return broken(fmt.Errorf("%s does not reach %s: %s", c.Name, m.host.Name, errs[0]))
	}
	asked, err := c.Agent.AskProbe(ctx, probeTimeout, server(m.host))
	switch {
	case err != nil:
		return err
	case asked.Errors[0] == "":
		return fmt.Errorf("%s still answers %s", m.host.Name, c.Name)
	case !strings.Contains(asked.Errors[0], "timeout"):
		return broken(fmt.Errorf("%s is not silent to %s: %s", m.host.Name, c.Name, asked.Errors[0]))
	}
	return nil
}
