package foreign

import (
	"context"
	"errors"
	"fmt"

	"locklab/recipes"
	"locklab/recipes/zksession"
)

// stage says what a request is waiting for.
type stage int

const (
	opening stage = iota
	acquiring
	held // an acquire that was granted
	releasing
	closing
)

func (s stage) String() string {
	return [...]string{"an open", "an acquire", "a hold", "a release", "a close"}[s]
}

// call is a request under way, or a hold. All but answers is guarded by process.mu.
type call struct {
	id       int64
	stage    stage
	session  *Session
	paths    int           // of an acquire
	answers  chan answer   // with room for all that can come
	wasAhead bool          // queued was answered
	hold     *recipes.Hold // once granted
	lose     func(error)
}

// call registers a request: under an id of its own, but a close under its session's.
func (p *process) call(s *Session, in stage) (*call, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return nil, p.err
	}
	c := &call{stage: in, session: s, answers: make(chan answer, 2)}
	switch in {
	case closing:
		c.id = s.id
	default:
		p.lastID++
		c.id = p.lastID
	}
	if in == opening {
		s.id = c.id
		p.sessions[c.id] = s
	}
	p.calls[c.id] = c
	return c, nil
}

// dispatch hands an answer to the request that it is for. Only the reader calls it.
func (p *process) dispatch(a answer) error {
	switch a.verb {
	case disconnected, connected, expired:
		return p.stateChanged(a)
	case opened:
		p.opened(a)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.calls[a.id]
	if c == nil {
		if waited, known := p.late[a.id]; known && (waited || a.verb == lost) {
			return nil
		}
		return fmt.Errorf("%s names %d, which no request waits for", a.verb, a.id)
	}
	switch {
	case a.verb == queued && c.stage == acquiring && !c.wasAhead:
		c.wasAhead = true
	case a.verb == granted && c.stage == acquiring:
		if len(a.tokens) > 0 && len(a.tokens) != c.paths {
			return fmt.Errorf("%d tokens for %d paths", len(a.tokens), c.paths)
		}
		c.stage = held
		p.grant(c, a)
	case c.stage == closing && (a.verb == opened || a.verb == failed):
		return nil // the answer to an open that was given up
	case a.verb == lost && c.stage == held:
		delete(p.calls, c.id)
		c.lose(reason(a))
		return nil
	case a.verb == opened && c.stage == opening, a.verb == closed && c.stage == closing,
		a.verb == timedOut && c.stage == acquiring,
		a.verb == failed && (c.stage == opening || c.stage == acquiring || c.stage == releasing),
		(a.verb == released || a.verb == lost) && c.stage == releasing:
		delete(p.calls, c.id)
		if a.verb == failed && c.stage == opening {
			delete(p.sessions, c.id)
		}
	case a.verb == granted && c.stage == held:
		return fmt.Errorf("acquire %d was granted twice", c.id)
	default:
		return fmt.Errorf("%s answers %s, whose id is %d", a.verb, c.stage, c.id)
	}
	c.answers <- a
	return nil
}

// reason returns the command's reason why something is over.
func reason(a answer) error {
	if a.text == "" {
		return fmt.Errorf("the lock's command says %s", a.verb)
	}
	return errors.New(a.text)
}

// grant makes the hold at once, so that a lost that follows immediately finds it. p.mu is held.
func (p *process) grant(c *call, a answer) {
	g := Grant{Tokens: a.tokens, At: a.at, id: c.id}
	token := int64(0)
	if len(a.tokens) == 1 {
		token = a.tokens[0]
	}
	id := a.session
	if id == 0 {
		id = c.session.serverID
	}
	c.hold, c.lose = recipes.NewHold(
		recipes.HoldConfig{Parent: context.WithValue(c.session.life, grantKey{}, g), Session: id, Token: token,
			Release: func(ctx context.Context) error { return p.release(ctx, c) }},
	)
}

// A Grant is what a command said about a hold and [recipes.Hold] cannot express.
type Grant struct {
	// Tokens are one for each path, or none.
	Tokens []int64
	// At is when the lock was granted, in ns of CLOCK_MONOTONIC by the command's
	// own reading; 0 = it did not say.
	At int64

	id int64 // of the acquire
}

type grantKey struct{}

// GrantOf returns what the command said about a hold of a foreign lock.
func GrantOf(h *recipes.Hold) Grant {
	g, _ := h.Context().Value(grantKey{}).(Grant)
	return g
}

// opened records a session before the next line can be about it.
func (p *process) opened(a answer) {
	p.mu.Lock()
	s := p.sessions[a.id]
	if s == nil || s.open {
		p.mu.Unlock()
		return
	}
	s.open, s.serverID, s.timeout, s.server = true, a.session, a.timeout, a.server
	p.mu.Unlock()
	s.report(
		zksession.StateChange{State: zksession.Connected, Session: a.session, Server: a.server, Negotiated: a.timeout},
	)
}

// stateChanged reports a change of a session's state.
func (p *process) stateChanged(a answer) error {
	p.mu.Lock()
	s, asked := p.sessions[a.id], a.id <= p.lastID
	if s == nil || !s.open {
		p.mu.Unlock()
		if !asked {
			return fmt.Errorf("%s names session %d, which was never opened", a.verb, a.id)
		}
		return nil // the close has overtaken it, or the answer to the open already reports it
	}
	if a.server != "" || a.verb == connected { // a connection to a server that is not named may be to any
		s.server = a.server
	}
	change := zksession.StateChange{Session: s.serverID, Negotiated: s.timeout, Server: s.server}
	if a.verb == expired {
		delete(p.sessions, a.id)
		p.forget(s)
	}
	p.mu.Unlock()
	switch a.verb {
	case connected:
		change.State = zksession.Connected
	case disconnected:
		change.State, change.Err = zksession.Disconnected, reason(a)
	case expired:
		change.State, change.Err = zksession.Expired, reason(a)
	}
	s.report(change)
	if a.verb == expired {
		s.end(fmt.Errorf("%w: %w", zksession.ErrSessionExpired, reason(a)))
	}
	return nil
}

// forget drops the requests of a session that is over. p.mu is held.
func (p *process) forget(s *Session) {
	for id, c := range p.calls {
		if c.session == s && c.stage != closing {
			delete(p.calls, id)
			p.late[id] = c.stage == acquiring || c.stage == releasing
		}
	}
}
