package recipes

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
)

// A Participant is a holder or a waiter in a lock's queue, whichever client it belongs to.
type Participant struct {
	// Path is the path of its znode.
	Path string
	// Session is the session that the znode belongs to.
	Session int64
	// Czxid is the transaction that created the znode. For a holder it is the token,
	// unless the hold comes from a downgrade.
	Czxid int64
	// Shared says that the participant has, or waits for, a read lock.
	Shared bool
	// Data is what the znode contains.
	Data []byte
}

// participants returns the contenders in the queue that are wanted, in the queue's order. It leaves out those that
// leave meanwhile.
func (l *line) participants(ctx context.Context, want func(contender) bool) (found []Participant, err error) {
	views, err := l.s.inspect(ctx, l.dir, func(name string) bool {
		c, ok := l.layout.parse(name)
		return ok && want(c)
	})
	if err != nil {
		return nil, fmt.Errorf("participants of %s: %w", l.dir, err)
	}
	for _, c := range l.layout.queue(slices.Collect(maps.Keys(views))) {
		v := views[c.name]
		found = append(found, Participant{path.Join(l.dir, c.name), v.stat.Owner, v.stat.Czxid, c.kind == reading, v.data})
	}
	return found, nil
}
