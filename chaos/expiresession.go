package chaos

import (
	"context"
	"errors"
	"time"

	"locklab/ensembles"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
)

func expireSessionKind() Kind {
	return Kind{
		Name: "expire-session", Family: FamilySession, Targets: OnClient,
		Momentary: true, Triggers: true, Slot: slotProcess, Room: 2 * time.Second, Word: "dump",
		Nature: evidence.FaultNature{Cause: evidence.CauseAdministrator, EndsSessions: true},
		Does: "a second connection closes the client's session by its id and password, so that the session really " +
			"ends; at a time, or by a `trigger`",
		Verified: "no server knows the session any more",
		Examples: []string{"target: c1"},
		check:    checkOwnSession,
		injector: onEach(func(r *Run, i injection, h *ensembles.Host) (Injector, error) {
			return expireSession{r.byClient(i, h, StrikeExpire)}, nil
		}),
	}
}

// expireSession really ends a client's session. A second connection names the session's id and password and closes
// it. The servers delete the session's znodes at once, and the client learns of it from its next request or ping.
type expireSession struct{ byClient }

// Inject returns once the client has reported that it is about to close the session. There is nothing to heal.
func (x expireSession) Inject(ctx context.Context) (*Harm, error) {
	e, err := x.strike(ctx)
	if err != nil {
		return nil, err
	}
	over := func(ctx context.Context) error {
		return ensembles.Poll(ctx, pollEvery, "session "+e.Session.String()+" to be gone from the leader", func() error {
			there, err := lives(ctx, x.ensemble, e.Session)
			if there {
				err = errors.New("the leader knows it")
			}
			return err
		})
	}
	return &Harm{
		At:           e.At,
		Hosts:        []string{x.host.Name},
		Sessions:     []history.SessionID{e.Session},
		Verify:       over,
		VerifyHealed: thenReady(x.ensemble, over),
	}, nil
}
