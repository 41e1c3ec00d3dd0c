package recipes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"

	"locklab/recipes/internal/tasks"
	"locklab/recipes/zksession"
)

// NaiveConfig describes a [NaiveMutex].
type NaiveConfig struct {
	Session *Session
	// Path is the lock's one znode. Its missing parents are created.
	Path string
	// Data is what the znode contains behind its first 36 bytes, for people that inspect the service. It is copied.
	Data []byte
	// OnQueued, if set, is called once by Acquire: with 0 when it got the lock at the first try, or with 1 when it
	// found the lock taken. How many others wait is not known.
	OnQueued func(ahead int)

	_ struct{} // no positional literals
}

// A NaiveMutex is the textbook's first exclusive lock: the client that creates the one ephemeral znode holds the lock;
// all others wait for its deletion and try again. A release wakes all waiters, one of which wins, in no order. It is
// there to be compared with.
type NaiveMutex struct {
	cfg NaiveConfig
}

// NewNaiveMutex checks the configuration. It asks the service nothing.
func NewNaiveMutex(cfg NaiveConfig) (*NaiveMutex, error) {
	if err := checkConfig("naive mutex", cfg.Session, cfg.Path); err != nil {
		return nil, err
	}
	cfg.Data = bytes.Clone(cfg.Data)
	cfg.OnQueued = cfg.Session.queued(naiveName, cfg.Path, cfg.OnQueued)
	return &NaiveMutex{cfg: cfg}, nil
}

// A naiveKey is the key of a naive mutex: see [claim].
type naiveKey struct {
	s    *Session
	path string
}

// naiveName is the name that a session's observer hears.
const naiveName = "naive-mutex"

// Acquire implements [Lock].
func (m *NaiveMutex) Acquire(ctx context.Context) (*Hold, error) { return m.acquire(ctx, false) }

func (m *NaiveMutex) acquire(ctx context.Context, try bool) (*Hold, error) {
	if !try && len(claimed(ctx, naiveKey{m.cfg.Session, m.cfg.Path}).live()) > 0 {
		return nil, fmt.Errorf("acquire %s: %w", m.cfg.Path, ErrHeld)
	}
	reported := false
	queued := func(ahead int) {
		if m.cfg.OnQueued != nil && !reported {
			m.cfg.OnQueued(ahead)
		}
		reported = true
	}
	return m.cfg.Session.attempts(ctx, naiveName, m.cfg.Path, func() (*Hold, error) {
		// The token in the znode's data tells this attempt's znode from that of another attempt in the same session,
		// which the owner alone does not.
		a := &naiveAttempt{
			s:    m.cfg.Session,
			path: m.cfg.Path,
			guid: m.cfg.Session.guid(),
			try:  try,

			removing: make(chan struct{}, 1),
		}
		a.token = append([]byte(a.guid), m.cfg.Data...)
		return a.await(ctx, queued)
	})
}

func (m *NaiveMutex) where() site { return site{m.cfg.Session, m.cfg.Path} }

// Participants returns the holder, if there is one; the waiters are not known. It costs one request.
func (m *NaiveMutex) Participants(ctx context.Context) ([]Participant, error) {
	v, err := settled(
		ctx,
		func(ctx context.Context) (view, error) { return m.cfg.Session.hub.read(ctx, target{path: m.cfg.Path}) },
	)
	if errors.Is(err, zksession.ErrNoNode) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("participants of %s: %w", m.cfg.Path, err)
	}
	return []Participant{
		{Path: m.cfg.Path, Session: v.stat.Owner, Czxid: v.stat.Czxid, Data: v.data[min(len(v.data), guidSize):]},
	}, nil
}

// guidSize is how many bytes of the znode's data tell one attempt from another.
const guidSize = 36

type naiveAttempt struct {
	s     *Session
	path  string
	guid  string
	token []byte // the guid, and the user's data
	try   bool   // do not wait for other clients
	// removing serialises the removals of one attempt, of which there may be several if a reply was lost and the
	// context ended. Otherwise one removal might delete a znode that another client has created since the first
	// removal's delete. It is a channel with one place, because testing/synctest does not count a goroutine that waits
	// for a mutex as blocked, so virtual time would stand still.
	removing chan struct{}
}

func (a *naiveAttempt) await(ctx context.Context, queued func(int)) (h *Hold, err error) {
	maybe := false // whether our znode may exist
	defer func() {
		if err != nil && maybe {
			a.discard()
		}
	}()
	for {
		if ctx.Err() != nil {
			return nil, tasks.Ended(ctx)
		}
		if _, err := owned(ctx, a.s, a.create, func(struct{}) { a.discard() }); err != nil {
			return nil, err
		}
		maybe = true
		// Whether we or another client created the znode, it now says whose it is. (This is a read with a watch,
		// because a check of existence would leave a watch behind if the znode has just gone.)
		data, stat, own, err := a.s.hub.get(ctx, a.path)
		switch {
		case errors.Is(err, zksession.ErrNoNode):
			maybe = false
			continue
		case errors.Is(err, zksession.ErrConnectionLoss):
			continue // the next create finds our znode, if it is there
		case err != nil:
			return nil, err
		}
		if a.ours(data, stat) {
			queued(0)
			if err := a.s.mayHold(); err != nil {
				own.stop()
				return nil, err
			}
			return a.grant(stat.Czxid, own), nil
		}
		maybe = false
		queued(1)
		if a.try {
			own.stop()
			return nil, ErrNotAcquired
		}
		select {
		case <-own.C:
		case <-a.s.Done():
			own.stop()
			return nil, a.s.Err()
		case <-ctx.Done():
			own.stop()
			return nil, tasks.Ended(ctx)
		}
	}
}

func (a *naiveAttempt) ours(data []byte, stat zksession.Stat) bool {
	return stat.Owner == a.s.ID() && bytes.Equal(data, a.token)
}

// create returns nil once the znode exists, whether it is ours or another client's. After an error of unknown outcome
// it leaves the rest to the janitor.
func (a *naiveAttempt) create(ctx context.Context) (none struct{}, err error) {
	lost := false
	defer func() {
		if err != nil && lost {
			a.discard()
		}
	}()
	for missing := 0; ; {
		if err := a.s.zk.Await(ctx); err != nil {
			return none, err
		}
		if lost {
			// This makes the next request come after any effect of the last one: see [creator.find].
			err := a.sync(ctx)
			if errors.Is(err, zksession.ErrConnectionLoss) {
				continue
			}
			if err != nil {
				return none, err
			}
		}
		_, err := a.s.zk.Create(context.WithoutCancel(ctx), a.path, a.token, zksession.Ephemeral)
		switch {
		case err == nil || errors.Is(err, zksession.ErrNodeExists):
			return none, nil
		case errors.Is(err, zksession.ErrNoNode) && missing < reaps:
			missing++
			if err := ensureDir(ctx, a.s.zk, path.Dir(a.path)); err != nil {
				return none, fmt.Errorf("create %s: %w", path.Dir(a.path), err)
			}
		case errors.Is(err, zksession.ErrConnectionLoss):
			lost = true
		default:
			return none, err
		}
	}
}

// sync returns when what was sent before has been done. Any path does, and this one says whose request it is.
func (a *naiveAttempt) sync(ctx context.Context) error {
	return a.s.zk.Sync(ctx, path.Join(a.path, a.guid))
}

func (a *naiveAttempt) grant(czxid int64, own *waiter) *Hold {
	h := a.s.newHold(naiveKey{a.s, a.path}, czxid, func(ctx context.Context) error {
		// The znode of a hold that was lost may be another's by now.
		return a.s.confirm(ctx, a.remove(czxid, ctx.Err() == nil))
	})
	h.path = a.path
	a.s.guard(h, a.path, czxid, own)
	return h
}

func (a *naiveAttempt) discard() { a.remove(0, false) }

// remove deletes the attempt's znode: the one created by czxid, or, if that is not known, the one that carries its
// token. With direct the first request is the delete itself.
//
// Any other delete comes only after a look whose znode it is: repeating a delete whose reply was lost would delete the
// next holder's. Between look and delete the znode cannot become another's, because while the session lives no other
// client deletes ours, except by force; the service has no delete that names the creating transaction, so there is no
// remedy against force.
func (a *naiveAttempt) remove(czxid int64, direct bool) <-chan error {
	ctx := context.Background() // ends with the session
	unanswered := !direct
	return a.s.janitor.run("delete "+a.path, func() error {
		a.removing <- struct{}{}
		defer func() { <-a.removing }()
		if unanswered {
			if err := a.sync(ctx); err != nil {
				return err
			}
			data, stat, err := a.s.zk.Get(ctx, a.path)
			if errors.Is(err, zksession.ErrNoNode) {
				return nil
			}
			if err != nil {
				return err
			}
			ours := stat.Czxid == czxid // even if its data has changed since
			if czxid == 0 {
				ours = a.ours(data, stat)
			}
			if !ours {
				return nil
			}
		}
		err := a.s.zk.Delete(ctx, a.path)
		if errors.Is(err, zksession.ErrNoNode) && unanswered {
			return nil // most likely by our own unanswered request
		}
		unanswered = unanswered || errors.Is(err, zksession.ErrConnectionLoss)
		return err
	})
}
