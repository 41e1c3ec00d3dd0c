package recipes

import (
	"context"
	"errors"
	"path"
)

// ensureDir creates the directory and whatever is missing above it, from the
// bottom up, so that the common case of one missing level costs one request. Levels are
// containers, which the service removes when they are no longer used, or
// persistent where the service has none. It is done only after a create was
// refused for want of a parent: the common case there is no missing level at all.
func ensureDir(ctx context.Context, zk ZooKeeper, dir string) error {
	if dir == "/" {
		return nil
	}
	mode := Container
	for {
		_, err := zk.Create(ctx, dir, nil, mode)
		switch {
		case err == nil || errors.Is(err, ErrNodeExists):
			return nil
		case errors.Is(err, ErrNoNode):
			if err := ensureDir(ctx, zk, path.Dir(dir)); err != nil {
				return err
			}
		case errors.Is(err, ErrUnimplemented) && mode == Container:
			mode = Persistent
		case errors.Is(err, ErrConnectionLoss):
			// Repeating does no harm.
		default:
			return err
		}
	}
}
