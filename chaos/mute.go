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
		injector: onEach(func(r *Run, i Injection, h *ensembles.Host) (Injector, error) {
			return Mute{ID: i.ID, Host: h, Clients: r.Clients, Ensemble: r.Ensemble}, nil
		}),
	}
}

// Mute makes a server accept its clients' connections and never answer on them. What the server sends to clients is
// dropped, except for packets that only keep the connection up. The other servers notice nothing.
type Mute struct {
	ID      string
	Host    *ensembles.Host
	Clients []*ensembles.Host
	// Ensemble must be whole after healing.
	Ensemble *ensembles.Ensemble
}

// Inject applies the rule.
func (m Mute) Inject(ctx context.Context) (*Harm, error) {
	at, err := apply(ctx, m.rules())
	if err != nil {
		return nil, fmt.Errorf("mute %s: %w", m.Host.Name, err)
	}
	return &Harm{At: at, Hosts: []string{m.Host.Name}, Verify: m.verify, Heal: m.heal, VerifyHealed: m.verifyHealed}, nil
}

func (m Mute) rules() []rule {
	return []rule{
		{
			m.Host,
			agent.Block{
				ID:        m.ID,
				Peers:     addresses(m.Clients),
				Direction: agent.Out,
				Ports:     []uint16{agent.ClientPort},
				Payload:   true,
			},
		},
	}
}

func (m Mute) heal(ctx context.Context) (int64, error) { return remove(ctx, m.rules()) }

// verify waits until the server answers no client. A server that is starting does not listen yet.
func (m Mute) verify(ctx context.Context) error {
	return ensembles.Poll(ctx, pollEvery, m.Host.Name+" to be silent", func() error { return m.silent(ctx) })
}

// silent connects from each client's host and sends a request.
func (m Mute) silent(ctx context.Context) error {
	return errors.Join(areThere(ctx, m.rules()), each(m.Clients, func(c *ensembles.Host) error {
		// If another fault cuts the link or has ended the server, there is no connection to test.
		cut := func(err error) error {
			if st, serr := m.Host.Agent.Status(ctx); serr == nil && st.State == history.ProcessExited {
				return nil
			}
			return excuse(ctx, m.rules(), Link[*ensembles.Host]{From: c, To: m.Host}, err, nil)
		}
		errs, err := c.Agent.Probe(ctx, probeTimeout, server(m.Host))
		if err != nil {
			return err
		}
		if errs[0] != "" {
			return cut(fmt.Errorf("%s does not reach %s: %s", c.Name, m.Host.Name, errs[0]))
		}
		asked, err := c.Agent.AskProbe(ctx, probeTimeout, server(m.Host))
		switch {
		case err != nil:
			return err
		case asked.Errors[0] == "":
			return fmt.Errorf("%s still answers %s", m.Host.Name, c.Name)
		case !strings.Contains(asked.Errors[0], "timeout"):
			return cut(fmt.Errorf("%s is not silent to %s: %s", m.Host.Name, c.Name, asked.Errors[0]))
		}
		return nil
	}))
}

func (m Mute) verifyHealed(ctx context.Context) error {
	err := ensembles.Poll(ctx, pollEvery, m.Host.Name+" to answer", func() error {
		if err := areGone(ctx, m.rules()); err != nil {
			return err
		}
		return each(m.Clients, func(c *ensembles.Host) error {
			asked, err := c.Agent.AskProbe(ctx, probeTimeout, server(m.Host))
			if err == nil && asked.Errors[0] != "" {
				err = fmt.Errorf("%s does not answer %s: %s", m.Host.Name, c.Name, asked.Errors[0])
			}
			return excuse(ctx, m.rules(), Link[*ensembles.Host]{From: c, To: m.Host}, err, nil)
		})
	})
	if err != nil {
		return err
	}
	return m.Ensemble.AwaitReady(ctx)
}
