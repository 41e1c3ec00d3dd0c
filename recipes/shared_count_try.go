package recipes

import (
	"context"
	"errors"
	"fmt"
	"path"

	"locklab/recipes/zksession"
)

// TrySetCount sets the value if it has not been set since previous was read, and reports whether it did. previous is
// what this or another SharedCount of the same path returned; a count that was deleted and created again since is
// another one. An error means that the value may or may not have been set.
func (c *SharedCount) TrySetCount(ctx context.Context, previous Count, value int32) (bool, error) {
	set, err := c.trySet(ctx, previous, value)
	return set, c.wrap("set", err)
}

// pinMark is the mark in the names of pins.
const pinMark = "pin-"

// errSetUnknown says that nothing is left that could tell whether the value was set.
var errSetUnknown = errors.New("the count was deleted, and it is not known whether the value was set before that")

// errUnpinned says that somebody has deleted a pin.
var errUnpinned = errors.New("the pin is gone")

// trySet sets the value by one transaction that requires the version of previous. A version alone does not say that the
// value is the same: when the znode was deleted and created again its versions start again, and a transaction cannot
// ask which transaction created a znode. So the client first creates a child of the count, the pin, and the transaction
// deletes the pin.
//
// Why that suffices. A znode that has a child cannot be deleted. The name of a pin contains a GUID, so once it is gone
// it does not come back. So if the transaction deletes the pin, the count was the same znode all the time since the pin
// was created. In that time the client has read it, and has found the transaction that made the value of previous,
// which has no other value. From the read to the transaction the version has stayed the same, so nobody has set the
// value.
//
// The pin also says, after a lost reply, whether the transaction was carried out: nothing else deletes it.
func (c *SharedCount) trySet(ctx context.Context, previous Count, value int32) (bool, error) {
	if previous.Version == zksession.AnyVersion {
		return false, errors.New("the version has wrapped around to -1, which matches any version")
	}
	s := c.cfg.Session
	for {
		made, err := creator{s: s, dir: c.cfg.Path, prefix: protectedPrefix(s.guid(), pinMark), existing: true}.
			create(ctx)
		if errors.Is(err, zksession.ErrNoNode) {
			return false, nil // deleted since
		}
		if err != nil {
			return false, fmt.Errorf("pin it: %w", err)
		}
		pin := path.Join(c.cfg.Path, made.name)
		set, err := owned(ctx, s, func(ctx context.Context) (bool, error) {
			set, err := c.setPinned(ctx, pin, previous, value)
			if !set && !errors.Is(err, errUnpinned) {
				_ = s.confirm(ctx, s.janitor.remove(pin)) // if not in time, then in the background
			}
			return set, err
		}, func(bool) {})
		if !errors.Is(err, errUnpinned) {
			return set, err
		}
	}
}

// setPinned makes the transaction. If it does not set the value the pin may still exist, unless the error is
// errUnpinned.
func (c *SharedCount) setPinned(ctx context.Context, pin string, previous Count, value int32) (bool, error) {
	zk := c.cfg.Session.zk
	for lost := false; ; {
		now, err := settled(ctx, func(ctx context.Context) (Count, error) {
			if lost {
				// After this the request has had its effect or never will: see [creator.find].
				if err := zk.Sync(ctx, c.cfg.Path); err != nil {
					return Count{}, err
				}
				if _, _, err := zk.Get(ctx, pin); err != nil {
					return Count{}, err
				}
			}
			return c.read(ctx)
		})
		switch {
		case errors.Is(err, zksession.ErrNoNode) && lost:
			return c.unpinned(ctx, previous)
		case errors.Is(err, zksession.ErrNoNode):
			return false, errUnpinned
		case err != nil:
			return false, err
		case now.Zxid != previous.Zxid:
			return false, nil
		}
		if err := zk.Await(ctx); err != nil {
			return false, err
		}
		_, err = zk.Multi(
			context.WithoutCancel(ctx), // a removal of the pin must not overtake it
			zksession.Op{Kind: zksession.OpDelete, Path: pin, Version: zksession.AnyVersion},
			zksession.Op{Kind: zksession.OpSet, Path: c.cfg.Path, Data: encodeCount(value), Version: previous.Version},
		)
		switch i := refused(err); {
		case err == nil:
			return true, nil
		case errors.Is(err, zksession.ErrConnectionLoss):
			lost = true
		case i == 0 && errors.Is(err, zksession.ErrNoNode):
			return false, errUnpinned
		case errors.Is(err, zksession.ErrBadVersion):
			return false, nil
		default:
			return false, err
		}
	}
}

// unpinned says what became of a transaction whose reply was lost and whose pin is gone: it was carried out, unless the
// value is still the old one because somebody else has deleted the pin.
func (c *SharedCount) unpinned(ctx context.Context, previous Count) (bool, error) {
	now, err := settled(ctx, c.read)
	switch {
	case errors.Is(err, zksession.ErrNoNode):
		return false, errSetUnknown // whoever deletes a count with all its children deletes the pin first
	case err != nil:
		return false, err
	case now.created != previous.created: // and perhaps somebody has created the count again since
		return false, errSetUnknown
	case now.Zxid == previous.Zxid:
		return false, errUnpinned
	}
	return true, nil
}
