package recipes

import (
	"context"
	"slices"
)

// A claim says in a context that a hold is there. An acquire with such a context is the holder's own: it would wait for
// itself where the lock is not free without that hold. The context of a hold has one, and so has every context made
// from that or by [Hold.Within].
type claim struct {
	hold  *Hold
	outer *claim // that of a hold around it, of the same lock
}

// claimed returns the claims of a lock in a context, the innermost first. The key is the lock's; it is known to this
// package only.
func claimed(ctx context.Context, key any) *claim {
	c, _ := ctx.Value(key).(*claim)
	return c
}

// live returns the holds that have not ended, and those under which they were acquired.
func (c *claim) live() []*Hold { return c.add(nil) }

func (c *claim) add(holds []*Hold) []*Hold {
	for ; c != nil; c = c.outer {
		if c.hold.ctx.Err() == nil && !slices.Contains(holds, c.hold) {
			holds = append(holds, c.hold)
		}
		holds = c.hold.under.add(holds)
	}
	return holds
}

// mark returns ctx, which then says that the hold is there.
func (h *Hold) mark(ctx context.Context) context.Context {
	if h.key == nil {
		return ctx
	}
	return context.WithValue(ctx, h.key, &claim{h, claimed(ctx, h.key)})
}

// newClaimedHold is newHold of a lock that has a key.
func newClaimedHold(
	parent context.Context, key any, session, token int64, release func(context.Context) error,
) *Hold {
	c := new(claim)
	c.hold = newHold(context.WithValue(parent, key, c), session, token, release)
	c.hold.key = key
	return c.hold
}
