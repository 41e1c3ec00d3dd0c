package chaos

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/harness/history"
)

// Mute has a server's clients connect to it and get no answer: what it writes to them is
// dropped, what only keeps up the connection passes. To the other servers it is as
// always.
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
	return []rule{{m.Host, agent.Block{ID: m.ID, Peers: addresses(m.Clients), Direction: agent.Out, Ports: []uint16{agent.ClientPort}, Payload: true}}}
}

func (m Mute) heal(ctx context.Context) (int64, error) { return remove(ctx, m.rules()) }

// verify waits until each client is met by silence: a server that is being started does not listen yet.
func (m Mute) verify(ctx context.Context) error {
	return ensembles.Poll(ctx, pollEvery, m.Host.Name+" to be silent", func() error { return m.silent(ctx) })
}

// silent connects from each client, and asks.
func (m Mute) silent(ctx context.Context) error {
	return errors.Join(areThere(ctx, m.rules()), each(m.Clients, func(c *ensembles.Host) error {
		// Where another fault cuts the link, or has ended the server, there is no connection to be silent on.
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
