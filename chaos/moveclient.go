package chaos

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"locklab/ensembles"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
)

func moveClientKind() Kind {
	return Kind{
		Name: "move-client", Family: FamilySession, Targets: OnClient,
		Alive: true, Slot: slotProcess, Word: "cons",
		Nature: evidence.FaultNature{Cause: evidence.CauseAdministrator, Passes: true},
		Does: "resets the client's connection and keeps the client from its server, so that its session continues " +
			"on another server",
		Verified: "another server has the session's connection; after healing, some server has it",
		Examples: []string{"target: c1"},
		check: func(c *checker, f Fault) {
			switch {
			case c.Servers == 1:
				c.refuse(at("kind").and("servers"), "servers: 3 or 5", "a client of a single server has no other server to move to")
			case c.Stay:
				c.refuse(at("kind").and("placement"), "placement: followers", "a client that knows only one server has no other "+
					"server to move to")
			}
			checkOwnSession(c, f)
		},
		injector: onEach(func(r *Run, i injection, h *ensembles.Host) (Injector, error) {
			return moveClient{r.byClient(i, h, StrikeMove)}, nil
		}),
	}
}

// moveClient resets a client's connection to its server, and keeps the client from that server while the fault is in
// force, so that its session continues on another one.
type moveClient struct{ byClient }

// Inject returns once the client has reported which server it is about to leave.
func (m moveClient) Inject(ctx context.Context) (*Harm, error) {
	e, err := m.strike(ctx)
	if err != nil {
		return nil, err
	}
	from := e.Strike().Server
	at := func(ctx context.Context, what string, ok func(server string) bool) error {
		return ensembles.Poll(ctx, pollEvery, "session "+e.Session.String()+" to be connected to "+what, func() error {
			names, err := connected(ctx, m.ensemble, e.Session)
			if err == nil && (len(names) != 1 || !ok(names[0])) {
				err = fmt.Errorf("it is connected to %v", names)
			}
			return err
		})
	}
	// The client itself refuses the server, so only the client can say that this is over.
	settled := func(ctx context.Context) (bool, error) {
		last, err := m.witness.Triggered(ctx, m.id, m.host.Name)
		return last.Strike().Action == history.StrikeSettled, err
	}
	return &Harm{At: e.At, Hosts: []string{m.host.Name}, Sessions: []history.SessionID{e.Session},
		Verify: func(ctx context.Context) error {
			if over, err := settled(ctx); err != nil || over {
				return cmp.Or(err, fmt.Errorf("%s may go back to %s", m.host.Name, from))
			}
			return at(ctx, "another server than "+from, func(server string) bool { return server != from })
		},
		Heal: m.heal,
		VerifyHealed: func(ctx context.Context) error {
			err := ensembles.Poll(ctx, pollEvery, "the word of "+m.host.Name+" that it may go back to "+from, func() error {
				over, err := settled(ctx)
				if err == nil && !over {
					err = errors.New("it has not said so")
				}
				return err
			})
			if err != nil {
				return err
			}
			return at(ctx, "any server", func(string) bool { return true })
		}}, nil
}
