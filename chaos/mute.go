package chaos

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/harness/check"
	"locklab/harness/history"
)

func muteKind() Kind {
	return Kind{
		Name: "mute", Family: FamilySession, Targets: OnServer,
		Nature: check.FaultNature{Cause: check.CauseAdministrator},
		Does: "the server accepts its clients' connections and never answers on them; it treats the other servers " +
			"as always",
		Verified: "the host of each client process connects to the server, sends a request and gets no answer; " +
			"after healing, it gets one",
		Examples: []string{"target: zk1"},
		injector: onEach(func(r *Run, i injection, h *ensembles.Host) (Injector, error) {
			return mute{id: i.id, host: h, clients: r.Clients, ensemble: r.Ensemble}, nil
		}),
	}
}

// mute makes a server accept its clients' connections and never answer on them. What the server sends to clients is
// dropped, except for packets that only keep the connection up. The other servers notice nothing.
type mute struct {
	id      string
	host    *ensembles.Host
	clients []*ensembles.Host
	// Ensemble must be whole after healing.
	ensemble *ensembles.Ensemble
}

// Inject applies the rule.
func (m mute) Inject(ctx context.Context) (*Harm, error) {
	at, err := apply(ctx, m.rules())
	if err != nil {
		return nil, fmt.Errorf("mute %s: %w", m.host.Name, err)
	}
	return &Harm{At: at, Hosts: []string{m.host.Name}, Verify: m.verify, Heal: m.heal, VerifyHealed: m.verifyHealed}, nil
}

func (m mute) rules() []rule {
	return []rule{
		{
			m.host,
			agent.Block{
				ID:        m.id,
				Peers:     addresses(m.clients),
				Direction: agent.Out,
				Ports:     []uint16{agent.ClientPort},
				Payload:   true,
			},
		},
	}
}

func (m mute) heal(ctx context.Context) (int64, error) { return remove(ctx, m.rules()) }

// verify waits until the server answers no client. A server that is starting does not listen yet.
func (m mute) verify(ctx context.Context) error {
	return ensembles.Poll(ctx, pollEvery, m.host.Name+" to be silent", func() error { return m.silent(ctx) })
}

// silent connects from each client's host and sends a request.
func (m mute) silent(ctx context.Context) error {
	return errors.Join(areThere(ctx, m.rules()), each(m.clients, func(c *ensembles.Host) error {
		// If another fault cuts the link or has ended the server, there is no connection to test.
		cut := func(err error) error {
			if st, serr := m.host.Agent.Status(ctx); serr == nil && st.State == history.ProcessExited {
				return nil
			}
			return excuse(ctx, m.rules(), hostLink{from: c, to: m.host}, err, nil)
		}
		errs, err := c.Agent.Probe(ctx, probeTimeout, server(m.host))
		if err != nil {
			return err
		}
		if errs[0] != "" {
			return cut(fmt.Errorf("%s does not reach %s: %s", c.Name, m.host.Name, errs[0]))
		}
		asked, err := c.Agent.AskProbe(ctx, probeTimeout, server(m.host))
		switch {
		case err != nil:
			return err
		case asked.Errors[0] == "":
			return fmt.Errorf("%s still answers %s", m.host.Name, c.Name)
		case !strings.Contains(asked.Errors[0], "timeout"):
			return cut(fmt.Errorf("%s is not silent to %s: %s", m.host.Name, c.Name, asked.Errors[0]))
		}
		return nil
	}))
}

func (m mute) verifyHealed(ctx context.Context) error {
	err := ensembles.Poll(ctx, pollEvery, m.host.Name+" to answer", func() error {
		if err := areGone(ctx, m.rules()); err != nil {
			return err
		}
		return each(m.clients, func(c *ensembles.Host) error {
			asked, err := c.Agent.AskProbe(ctx, probeTimeout, server(m.host))
			if err == nil && asked.Errors[0] != "" {
				err = fmt.Errorf("%s does not answer %s: %s", m.host.Name, c.Name, asked.Errors[0])
			}
			return excuse(ctx, m.rules(), hostLink{from: c, to: m.host}, err, nil)
		})
	})
	if err != nil {
		return err
	}
	return m.ensemble.AwaitReady(ctx)
}
