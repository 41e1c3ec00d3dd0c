package broken

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"path"

	"github.com/go-zookeeper/zk"
	"github.com/google/uuid"

	"locklab/recipes"
)

// A naive is the lock of one znode, whose path every holder uses again: who deletes it must know
// whose it is.
type naive struct {
	c    *Client
	path string
	// release deletes the znode of a hold.
	release func(m *naive, s session, czxid int64) error
}

// Acquire implements [recipes.Lock].
func (m *naive) Acquire(ctx context.Context) (*recipes.Hold, error) {
	s, err := m.c.session(ctx)
	if err != nil {
		return nil, err
	}
	mine := []byte(uuid.NewString())
	for {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("acquire %s: %w", m.path, err)
		}
		if err := s.over(); err != nil {
			return nil, fmt.Errorf("acquire %s: %w", m.path, err)
		}
		err := m.c.repeat(func() error {
			_, err := m.c.conn.Create(m.path, mine, zk.FlagEphemeral, everybody)
			return err
		})
		if err == zk.ErrNoNode {
			err = m.c.mkdir(path.Dir(m.path))
			if err == nil {
				continue
			}
		}
		if err != nil && err != zk.ErrNodeExists {
			return nil, err
		}
		var data []byte
		var stat *zk.Stat
		var events <-chan zk.Event
		err = m.c.repeat(func() (err error) {
			data, stat, events, err = m.c.conn.GetW(m.path)
			return err
		})
		switch {
		case err == zk.ErrNoNode:
			continue
		case err != nil:
			return nil, err
		case bytes.Equal(data, mine) && stat.EphemeralOwner == s.id:
			czxid := stat.Czxid
			return s.hold(czxid, func() error { return m.release(m, s, czxid) }), nil
		case bytes.Equal(data, mine): // made in a later session, by a create that was repeated
			return nil, fmt.Errorf("acquire %s: %w", m.path, cmp.Or(m.c.remove(m.path), recipes.ErrSessionExpired))
		}
		select {
		case <-events:
		case <-ctx.Done():
		}
	}
}

// blindDelete repeats a delete that was not answered: if it was carried out, the second
// is of the next holder's znode.
func blindDelete(cfg Config) Ways {
	return Ways{Write: &naive{c: cfg.Client, path: cfg.Path, release: func(m *naive, s session, _ int64) error {
		for {
			err := m.c.conn.Delete(m.path, -1)
			if answered(err) {
				return err
			}
			if s.over() != nil || m.c.over() {
				return fmt.Errorf("%w: %w", recipes.ErrLockLost, recipes.ErrSessionExpired)
			}
		}
	}}}
}

// queuedWrite looks whose znode it is before it repeats a delete, but not whose session the
// request is sent in: go-zookeeper keeps it while it has no connection, and sends it in the next session
// if this one has expired meanwhile.
func queuedWrite(cfg Config) Ways {
	return Ways{Write: &naive{c: cfg.Client, path: cfg.Path, release: func(m *naive, s session, czxid int64) error {
		for {
			err := m.c.conn.Delete(m.path, -1)
			if answered(err) {
				return err
			}
			var stat *zk.Stat
			err = m.c.repeat(func() (err error) {
				if _, err = m.c.conn.Sync(m.path); err == nil {
					_, stat, err = m.c.conn.Get(m.path)
				}
				return err
			})
			switch {
			case err == zk.ErrNoNode || err == nil && stat.Czxid != czxid:
				return s.over() // gone, by our own request unless the session is over
			case err != nil:
				return err
			}
		}
	}}}
}
