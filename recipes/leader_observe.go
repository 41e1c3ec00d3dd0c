package recipes

import (
	"context"
	"errors"
	"fmt"
	"path"

	"locklab/recipes/internal/tasks"
	"locklab/recipes/zksession"
)

// A LeaderInfo says who leads, by what a server of the service knew when it was asked. The zero value says that no
// candidate does.
type LeaderInfo struct {
	// ID is the leader's. It is also empty while a candidate leads that has none, or that had been asked to leave by
	// [Session.Revoke], which overwrites it, before it was first seen.
	ID string
	// Token is the token of the leader's term. It is 0 only if no candidate leads. A client that sends it with its
	// requests makes sure that it is served by this leader and in this term.
	Token int64
	// Session is the session of the leader, and Path is the path of its znode.
	Session int64
	Path    string
	// Err says why there will be no further one. It comes alone.
	Err error
}

// Current returns who leads. It costs 2 requests.
func (l *Leader) Current(ctx context.Context) (LeaderInfo, error) {
	s, err := l.session(ctx)
	if err == nil {
		var info LeaderInfo
		if info, _, err = l.look(ctx, s, false); err == nil {
			return info, nil
		}
	}
	return LeaderInfo{}, fmt.Errorf("leader of %s: %w", l.cfg.Path, err)
}

// Participants returns every candidate in the queue, the leader first; the data are their ids. It costs one request,
// and one more for each candidate, so the result does not show a single moment.
func (l *Leader) Participants(ctx context.Context) ([]Participant, error) {
	s, err := l.session(ctx)
	if err != nil {
		return nil, fmt.Errorf("participants of %s: %w", l.cfg.Path, err)
	}
	return l.line(s).participants(ctx, func(contender) bool { return true })
}

// Observe returns a channel of who leads: at first the present leader, and then each new one. Between two terms, while
// no candidate leads, a zero LeaderInfo is sent.
//
// The channel holds the newest only. So a receiver that is late, or disconnected from the service for a time, learns
// who leads then, and not of those that led meanwhile. Any LeaderInfo may be outdated when it is received.
//
// The channel is closed when ctx ends. It is also closed when the session is over or the Renewer is closed, or when the
// service refuses a request; then the last LeaderInfo has an Err.
func (l *Leader) Observe(ctx context.Context) <-chan LeaderInfo {
	out := make(chan LeaderInfo, 1)
	newest := func(info LeaderInfo) {
		select {
		case <-out:
		default:
		}
		out <- info // has room, because there is no other sender
	}
	observe := func() {
		defer close(out)
		if err := l.observe(ctx, newest); ctx.Err() == nil {
			newest(LeaderInfo{Err: fmt.Errorf("observe %s: %w", l.cfg.Path, err)})
		}
	}
	var owner *tasks.Set
	if l.cfg.Renewer != nil {
		owner = &l.cfg.Renewer.tasks
	} else {
		owner = &l.cfg.Session.tasks
	}
	if !owner.Start(observe) {
		newest(LeaderInfo{Err: fmt.Errorf("observe %s: %w", l.cfg.Path, zksession.ErrSessionClosed)})
		close(out)
	}
	return out
}

// observe tells of each leader, until ctx ends or there is nothing more to tell.
func (l *Leader) observe(ctx context.Context, tell func(LeaderInfo)) error {
	var last LeaderInfo
	for first := true; ; {
		s, err := l.session(ctx)
		if err != nil {
			return err
		}
		err = l.follow(ctx, s, func(info LeaderInfo) {
			if info.ID == "" && info.Token == last.Token {
				info.ID = last.ID // revoked since
			}
			if first || info != last {
				tell(info)
			}
			first, last = false, info
		})
		if ctx.Err() != nil || s.Err() == nil || l.cfg.Renewer == nil {
			return err
		}
	}
}

// follow looks who leads, again whenever that may have changed, until ctx or the session ends. It begins with a sync,
// because the server of a new session may know less than that of the last one has told.
func (l *Leader) follow(ctx context.Context, s *Session, tell func(LeaderInfo)) error {
	if _, err := settled(ctx, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, s.zk.Sync(ctx, l.cfg.Path)
	}); err != nil {
		return err
	}
	for {
		info, changed, err := l.look(ctx, s, true)
		if err != nil {
			return err
		}
		tell(info)
		select {
		case <-changed.C:
		case <-s.Done():
			err = s.Err()
		case <-ctx.Done():
			err = tasks.Ended(ctx)
		}
		changed.stop()
		if err != nil {
			return err
		}
	}
}

// look returns who leads, and a waiter for a change of that, if one is wanted.
//
// The head of the queue leads. It is still the head when its znode is read, because candidates that come later are
// behind it. Only its own end can change that. So it alone is watched, or the directory if there is no candidate.
func (l *Leader) look(ctx context.Context, s *Session, wait bool) (LeaderInfo, *waiter, error) {
	list, empty := target{l.cfg.Path, true}, false
	for {
		v, changed, err := s.see(ctx, list, empty && wait)
		switch {
		case errors.Is(err, zksession.ErrNoNode) && !wait:
			return LeaderInfo{}, nil, nil
		case errors.Is(err, zksession.ErrNoNode):
			if err = ensureDir(ctx, s.zk, l.cfg.Path); err == nil { // there has to be something to watch
				continue
			}
		}
		if err != nil {
			return LeaderInfo{}, nil, err
		}
		queue := l.layout().queue(v.names)
		if len(queue) == 0 || queue[0].exhausted() {
			if changed != nil || !wait {
				return LeaderInfo{}, changed, nil
			}
			empty = true
			continue
		}
		empty = false
		changed.stop()
		node := path.Join(l.cfg.Path, queue[0].name)
		v, changed, err = s.see(ctx, target{path: node}, wait)
		if errors.Is(err, zksession.ErrNoNode) {
			continue
		}
		if err != nil {
			return LeaderInfo{}, nil, err
		}
		info := LeaderInfo{ID: string(v.data), Token: v.stat.Czxid, Session: v.stat.Owner, Path: node}
		if isRevocation(v.data) {
			info.ID = ""
		}
		return info, changed, nil
	}
}

// see reads a target, and watches it if it is to be watched.
func (s *Session) see(ctx context.Context, t target, watched bool) (v view, changed *waiter, err error) {
	v, err = settled(ctx, func(ctx context.Context) (v view, err error) {
		if watched {
			v, changed, err = s.hub.look(ctx, t)
			return v, err
		}
		return s.hub.read(ctx, t)
	})
	return v, changed, err
}
