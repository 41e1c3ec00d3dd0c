package chaos

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/harness/history"
)

// A ByClient is a fault that a client process brings upon a session of its own, since only it knows
// the session's password, and its own connection.
type ByClient struct {
	// ID is the fault's, by which the client reports.
	ID   string
	Host *ensembles.Host
	// Do and Undo are the lines that the client process takes for that on its standard input.
	Do, Undo string
	Witness  Witness
	Ensemble *ensembles.Ensemble
}

// tellClient sends the line and waits until the client has reported which session it is.
func (b ByClient) tellClient(ctx context.Context) (history.Event, error) {
	undo := func(ctx context.Context) (int64, error) {
		st, err := b.Host.Agent.Input(ctx, b.Undo)
		return st.At, err
	}
	do := func(ctx context.Context) (agent.Stamp, error) { return b.Host.Agent.Input(ctx, b.Do) }
	if _, err := tell(ctx, do, undo); err != nil {
		return history.Event{}, fmt.Errorf("tell %s: %w", b.Host.Name, err)
	}
	e, err := b.Witness.Triggered(ctx, b.ID, b.Host.Name)
	if err == nil && e.Kind == history.Fail {
		err = fmt.Errorf("%w: %s of %s: %s", ErrNobody, b.ID, e.Client, e.Detail)
	}
	if err != nil {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), healCap)
		defer cancel()
		if _, uerr := undo(clean); uerr != nil {
			err = errors.Join(err, fmt.Errorf("undo: %w", uerr))
		}
		return history.Event{}, fmt.Errorf("no client of %s did it: %w", b.Host.Name, err)
	}
	return e, nil
}

// listed finds a session in an answer.
func listed(s history.SessionID) *regexp.Regexp {
	return regexp.MustCompile(`\b` + regexp.QuoteMeta(s.String()) + `\b`)
}

// lives reports whether the leader knows a session to live. Only its word counts: a follower that is cut off
// goes on listing one that has ended, and a server that serves nobody lists none. Without a leader that
// serves, it cannot be told.
func lives(ctx context.Context, e *ensembles.Ensemble, s history.SessionID) (bool, error) {
	leader, err := e.Leader(ctx)
	if err != nil {
		return false, err
	}
	answer, err := leader.Agent.Ask(ctx, "dump")
	if err != nil {
		return false, err
	}
	there, ok := knows(answer, s)
	if !ok {
		return false, fmt.Errorf("%s does not list sessions: %s", leader.Name, strings.TrimSpace(answer))
	}
	return there, nil
}

// knows reports whether a server's answer to "dump" has a session, or a znode of it; not ok if it lists none. A connection that the
// session had counts for nothing: a server that has closed it may go on listing it for ten seconds.
func knows(dump string, s history.SessionID) (there, ok bool) {
	dump, _, _ = strings.Cut(dump, "Connections dump")
	return listed(s).MatchString(dump), strings.Contains(dump, "SessionTracker dump")
}

// connected returns which servers list a session among those that are connected to them.
func connected(ctx context.Context, e *ensembles.Ensemble, s history.SessionID) ([]string, error) {
	id := listed(s)
	var names []string
	var errs []error
	for _, h := range e.Servers {
		answer, err := h.Agent.Ask(ctx, "cons")
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if id.MatchString(answer) {
			names = append(names, h.Name)
		}
	}
	if len(errs) == len(e.Servers) {
		return nil, errors.Join(errs...)
	}
	return names, nil
}
