package broken

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"path"

	"github.com/go-zookeeper/zk"

	"locklab/recipes"
	"locklab/recipes/zksession"
)

// A naive is a lock with one znode, whose path every holder uses again: a client that deletes the znode must know
// that it is its own.
type naive struct {
	c    client
	path string
	// release deletes the znode of a hold.
	release func(m *naive, s session, czxid int64) error
}

// Acquire implements [recipes.Lock].
func (m *naive) Acquire(ctx context.Context) (*recipes.Hold, error) {
	s, err := m.c.Session(ctx)
	if err != nil {
		return nil, err
	}
	mine := []byte(m.c.GUID())
	for {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("acquire %s: %w", m.path, err)
		}
		if err := s.Err(); err != nil {
			return nil, fmt.Errorf("acquire %s: %w", m.path, err)
		}
		err := m.c.repeat(func() error {
			_, err := m.c.Conn.Create(m.path, mine, zk.FlagEphemeral, everybody)
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
			data, stat, events, err = m.c.Conn.GetW(m.path)
			return err
		})
		switch {
		case err == zk.ErrNoNode:
			continue
		case err != nil:
			return nil, err
		case bytes.Equal(data, mine) && stat.EphemeralOwner == s.ID:
			czxid := stat.Czxid
			return hold(s, czxid, func() error { return m.release(m, s, czxid) }), nil
		case bytes.Equal(data, mine): // created in a later session, by a repeated create
			return nil, fmt.Errorf("acquire %s: %w", m.path, cmp.Or(m.c.remove(m.path), zksession.ErrSessionExpired))
		}
		select {
		case <-events:
		case <-ctx.Done():
		}
	}
}

// blindDelete repeats a delete that was not answered. If the first one was carried out, the second deletes the next
// holder's znode.
func blindDelete(cfg Config) Ways {
	return Ways{Write: &naive{c: client{cfg.Client}, path: cfg.Path, release: func(m *naive, s session, _ int64) error {
		for {
			err := m.c.Conn.Delete(m.path, -1)
			if answered(err) {
				return err
			}
			if s.Err() != nil || m.c.Err() != nil {
				return fmt.Errorf("%w: %w", recipes.ErrLockLost, zksession.ErrSessionExpired)
			}
		}
	}}}
}

// queuedWrite checks that the znode is its own before it repeats a delete, but not in which session the request is
// sent. go-zookeeper keeps the request while it has no connection, and sends it in the next session if this one has
// expired meanwhile.
func queuedWrite(cfg Config) Ways {
	return Ways{
		Write: &naive{c: client{cfg.Client}, path: cfg.Path, release: func(m *naive, s session, czxid int64) error {
			for {
				err := m.c.Conn.Delete(m.path, -1)
				if answered(err) {
					return err
				}
				var stat *zk.Stat
				err = m.c.repeat(func() (err error) {
					if _, err = m.c.Conn.Sync(m.path); err == nil {
						_, stat, err = m.c.Conn.Get(m.path)
					}
					return err
				})
				switch {
				case err == zk.ErrNoNode || err == nil && stat.Czxid != czxid:
					return s.Err() // gone, by our own request unless the session is over
				case err != nil:
					return err
				}
			}
		}},
	}
}
