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

// A byClient is a fault that a client process inflicts on itself, because only the client knows when it is in its
// critical section, and has its session's password and connection.
type byClient struct {
	// id is the fault's id, which the client reports.
	id   string
	host *ensembles.Host
	// do and undo are the lines that start and undo it, on the client process's standard input.
	do, undo string
	witness  Witness
	ensemble *ensembles.Ensemble
}

// command sends the line that starts the fault.
func (b byClient) command(ctx context.Context) error {
	do := func(ctx context.Context) (agent.Stamp, error) { return b.host.Agent.Input(ctx, b.do) }
	_, err := carryOut(ctx, do, b.heal)
	return err
}

func (b byClient) heal(ctx context.Context) (int64, error) {
	st, err := b.host.Agent.Input(ctx, b.undo)
	return st.At, err
}

// reported waits until a client has reported what it did, which "did" says in words, and undoes the command if none
// does.
func (b byClient) reported(ctx context.Context, did string) (history.Event, error) {
	e, err := b.witness.Triggered(ctx, b.id, b.host.Name)
	if err == nil && e.Kind == history.Fail {
		err = fmt.Errorf("%w: %s of %s: %s", ErrNobody, b.id, e.Client, e.Strike().Action)
	}
	if err == nil {
		return e, nil
	}
	clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), healCap)
	defer cancel()
	if _, uerr := b.heal(clean); uerr != nil {
		err = errors.Join(err, fmt.Errorf("undo: %w", uerr))
	}
	return history.Event{}, fmt.Errorf("no client of %s %s: %w", b.host.Name, did, err)
}

// strike sends the command, and waits until the client has reported which session the fault strikes.
func (b byClient) strike(ctx context.Context) (history.Event, error) {
	if err := b.command(ctx); err != nil {
		return history.Event{}, err
	}
	return b.reported(ctx, "did it")
}

func listed(s history.SessionID) *regexp.Regexp {
	return regexp.MustCompile(`\b` + regexp.QuoteMeta(s.String()) + `\b`)
}

// lives reports whether the leader lists a session as alive. Only the leader counts, because a follower that is cut
// off still lists sessions that have ended, and a server that serves no clients lists none. The result is not known
// without a leader that serves. Of an external ensemble, whose leader may not be among the servers that are known, each
// server counts that lists sessions.
func lives(ctx context.Context, e *ensembles.Ensemble, s history.SessionID) (bool, error) {
	if e.External {
		return livesAnywhere(ctx, e, s)
	}
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

// livesAnywhere reports whether any server lists a session as alive. The result is not known unless all servers list
// theirs.
func livesAnywhere(ctx context.Context, e *ensembles.Ensemble, s history.SessionID) (bool, error) {
	for _, h := range e.Servers {
		answer, err := h.Agent.Ask(ctx, "dump")
		if err != nil {
			return false, err
		}
		there, ok := knows(answer, s)
		if there {
			return true, nil
		}
		if !ok {
			return false, fmt.Errorf("%s does not list sessions", h.Name)
		}
	}
	return false, nil
}

// knows reports whether a server's answer to "dump" lists a session, or a znode of it; not ok if it lists none. A
// connection of the session does not count, because a server may list a connection for ten seconds after it closed
// it.
func knows(dump string, s history.SessionID) (there, ok bool) {
	dump, _, _ = strings.Cut(dump, "Connections dump")
	return listed(s).MatchString(dump), strings.Contains(dump, "SessionTracker dump")
}

// connected returns the servers that list a session among those that are connected to them.
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

// byClient makes a client of a process take an action against itself, at once or at the trigger's point.
func (r *Run) byClient(i injection, h *ensembles.Host, action string) byClient {
	do := r.Commands.Strike(i.id, action, i.clientOf(h))
	if i.Trigger != "" {
		do = r.Commands.Arm(i.id, i.Trigger, action)
	}
	return byClient{i.id, h, do, r.Commands.Undo(i.id, action), r.Witness, r.Ensemble}
}

// checkOwnSession refuses a fault that a client inflicts on its own session if the session belongs to a foreign lock.
func checkOwnSession(c *checker, f Fault) {
	n := f.Target.number("c")
	if n == 0 || n > c.ClientProcesses {
		return // the target was refused already
	}
	if recipe := c.OwnSession(n - 1); recipe != "" {
		c.refuse(at("kind").and("recipe"), "a recipe of ours, or another target",
			"the session of %s is recipe %s's own, and nobody else knows its password", f.Target, recipe)
	}
}
