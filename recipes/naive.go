package recipes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/google/uuid"
)

// NaiveConfig describes a [NaiveMutex].
type NaiveConfig struct {
	Session *Session
	// Path is the lock's one znode. What is above it is created if it does not exist.
	Path string
	// OnQueued, if set, is called once by Acquire, with 0 when it got the lock at the
	// first try, or 1 when it found it taken: how many others wait nobody knows.
	OnQueued func(ahead int)

	_ struct{} // no positional literals
}

// A NaiveMutex is the textbook's first exclusive lock: whoever creates the one
// ephemeral znode holds; everybody else waits for its deletion and tries again. A release
// wakes all waiters, of whom one wins, in no order. It is there to be compared with.
type NaiveMutex struct {
	cfg NaiveConfig
}

// NewNaiveMutex checks the configuration. It asks the service nothing.
func NewNaiveMutex(cfg NaiveConfig) (*NaiveMutex, error) {
	if err := checkConfig("naive mutex", cfg.Session, cfg.Path); err != nil {
		return nil, err
	}
	return &NaiveMutex{cfg: cfg}, nil
}

// Acquire implements [Lock].
func (m *NaiveMutex) Acquire(ctx context.Context) (*Hold, error) {
	// The token in the znode's data tells this attempt's znode from another's of the
	// same session, which its owner alone does not.
	a := &naiveAttempt{s: m.cfg.Session, path: m.cfg.Path, token: []byte(uuid.NewString())}
	queued := func(ahead int) {
		if m.cfg.OnQueued != nil && !a.queued {
			m.cfg.OnQueued(ahead)
		}
		a.queued = true
	}
	h, err := a.await(ctx, queued)
	if err != nil {
		return nil, fmt.Errorf("acquire %s: %w", m.cfg.Path, err)
	}
	return h, nil
}

type naiveAttempt struct {
	s      *Session
	path   string
	token  []byte
	queued bool
}

func (a *naiveAttempt) await(ctx context.Context, queued func(int)) (h *Hold, err error) {
	maybe := false // our znode may exist
	defer func() {
		if err != nil && maybe {
			a.discard()
		}
	}()
	for {
		if ctx.Err() != nil {
			return nil, ended(ctx)
		}
		if _, err := owned(ctx, a.s, a.create, func(struct{}) { a.discard() }); err != nil {
			return nil, err
		}
		maybe = true
		// Whether we or somebody else created it, the znode now says whose it is.
		// (A read with a watch: a check of existence would leave a watch behind
		// where the znode has just gone.)
		data, stat, own, err := a.s.hub.get(ctx, a.path)
		switch {
		case errors.Is(err, ErrNoNode):
			maybe = false
			continue
		case errors.Is(err, ErrConnectionLoss):
			continue // the next create finds our znode, if it is there
		case err != nil:
			return nil, err
		}
		if a.ours(data, stat) {
			queued(0)
			if err := a.s.Err(); err != nil {
				own.stop()
				return nil, err
			}
			return a.grant(stat.Czxid, own), nil
		}
		maybe = false
		queued(1)
		select {
		case <-own.C:
		case <-a.s.Done():
			own.stop()
			return nil, a.s.Err()
		case <-ctx.Done():
			own.stop()
			return nil, ended(ctx)
		}
	}
}

// ours reports whether a znode is this attempt's, in this session.
func (a *naiveAttempt) ours(data []byte, stat Stat) bool {
	return stat.Owner == a.s.ID() && bytes.Equal(data, a.token)
}

// create returns nil once the znode exists, whoever's it is. After an error of
// unknown outcome it leaves the rest to the janitor.
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
			// So that the next request comes after whatever became of the last
			// one: see [creator.find].
			err := a.s.zk.Sync(ctx, a.path)
			if errors.Is(err, ErrConnectionLoss) {
				continue
			}
			if err != nil {
				return none, err
			}
		}
		_, err := a.s.zk.Create(context.WithoutCancel(ctx), a.path, a.token, Ephemeral)
		switch {
		case err == nil || errors.Is(err, ErrNodeExists):
			return none, nil
		case errors.Is(err, ErrNoNode) && missing < reaps:
			missing++
			if err := ensureDir(ctx, a.s.zk, path.Dir(a.path)); err != nil {
				return none, fmt.Errorf("create %s: %w", path.Dir(a.path), err)
			}
		case errors.Is(err, ErrConnectionLoss):
			lost = true
		default:
			return none, err
		}
	}
}

func (a *naiveAttempt) grant(czxid int64, own *waiter) *Hold {
	h := newHold(a.s.life, a.s.ID(), czxid, func(ctx context.Context) error {
		return a.s.confirm(ctx, a.remove(czxid, true))
	})
	a.s.guard(h, a.path, czxid, own)
	return h
}

// discard removes the attempt's znode if there is one.
func (a *naiveAttempt) discard() { a.remove(0, false) }

// remove deletes the attempt's znode: the one created by czxid, or, if that is not
// known, whichever carries its token. With direct the first request is the delete itself.
//
// Any other delete comes only after a look whose znode it is: repeating a
// delete whose reply was lost would delete the next holder's. Between look and
// delete the znode cannot become another's, because while the session lives nobody but us
// deletes ours, save by force; the service has no delete that names the
// creating transaction, so against force there is no remedy.
func (a *naiveAttempt) remove(czxid int64, direct bool) <-chan error {
	ctx := context.Background() // ends with the session
	unanswered := !direct
	return a.s.janitor.run("delete "+a.path, func() error {
		if unanswered {
			if err := a.s.zk.Sync(ctx, a.path); err != nil {
				return err
			}
			data, stat, err := a.s.zk.Get(ctx, a.path)
			if errors.Is(err, ErrNoNode) {
				return nil
			}
			if err != nil {
				return err
			}
			if !a.ours(data, stat) || czxid != 0 && czxid != stat.Czxid {
				return nil
			}
		}
		err := a.s.zk.Delete(ctx, a.path)
		if errors.Is(err, ErrNoNode) && unanswered {
			return nil // most likely by our own unanswered request
		}
		unanswered = unanswered || errors.Is(err, ErrConnectionLoss)
		return err
	})
}
