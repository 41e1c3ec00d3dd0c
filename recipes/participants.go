package recipes

import (
	"context"
	"errors"
	"fmt"
	"path"
)

// A Participant is somebody in a lock's queue: a holder or a waiter, of whichever client.
type Participant struct {
	// Path is the znode's.
	Path string
	// Session is the one that the znode belongs to.
	Session int64
	// Czxid is the transaction that created the znode. For a holder it is the token,
	// unless the hold comes from a downgrade.
	Czxid int64
	// Shared says that it has, or waits for, a read lock.
	Shared bool
	// Data is what the znode contains.
	Data []byte
}

// participants returns those in the queue that are wanted, in its order. Whoever
// leaves while they are being looked at is left out.
func (l *line) participants(ctx context.Context, want func(contender) bool) (found []Participant, err error) {
	var children []string
	err = existing(func() (err error) { children, err = l.s.zk.Children(ctx, l.dir); return err })
	for _, c := range l.layout.queue(children) {
		if err != nil {
			break
		}
		if !want(c) {
			continue
		}
		node := path.Join(l.dir, c.name)
		err = existing(func() error {
			data, stat, err := l.s.zk.Get(ctx, node)
			if err == nil {
				found = append(found, Participant{node, stat.Owner, stat.Czxid, l.layout[c.kind] == rwLayout[reading], data})
			}
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("participants of %s: %w", l.dir, err)
	}
	return found, nil
}

// existing repeats a read until it is answered. What does not exist is no error.
func existing(read func() error) error {
	for {
		err := read()
		if errors.Is(err, ErrNoNode) {
			return nil
		}
		if !errors.Is(err, ErrConnectionLoss) {
			return err
		}
	}
}
