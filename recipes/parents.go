package recipes

import (
	"context"
	"errors"
	"path"

	"locklab/recipes/zksession"
)

// ensureDir creates the directory and whatever is missing above it, from the bottom up, so that the common case of one
// missing level costs one request. Levels are containers, which the service removes when they are no longer used, or
// persistent where the service has no containers. It is called only after a create was refused for lack of a parent,
// because usually no level is missing. The root itself is there, or is a chroot, whose create makes all of it.
func ensureDir(ctx context.Context, zk zksession.ZooKeeper, dir string) error {
	mode := zksession.Container
	for {
		_, err := zk.Create(ctx, dir, nil, mode)
		switch {
		case err == nil || errors.Is(err, zksession.ErrNodeExists):
			return nil
		case errors.Is(err, zksession.ErrNoNode):
			if err := ensureDir(ctx, zk, path.Dir(dir)); err != nil {
				return err
			}
		case errors.Is(err, zksession.ErrUnimplemented) && mode == zksession.Container:
			mode = zksession.Persistent
		case errors.Is(err, zksession.ErrConnectionLoss):
			// The create can safely be repeated.
		default:
			return err
		}
	}
}
