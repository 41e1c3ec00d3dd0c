package recipes

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
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
