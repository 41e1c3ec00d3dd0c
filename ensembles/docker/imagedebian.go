package docker

import (
	"context"
	"errors"
	"io"

	"locklab/ensembles/debian"
)

// buildDebian streams a minimal Debian root with Java and a version of ZooKeeper into the engine.
func buildDebian(ctx context.Context, e *engine, v debian.Version) error {
	// The image gets its name only after the tool has succeeded: a root that ends early must not be used.
	unfinished := v.Image() + "-unfinished"
	imported := false
	err := v.Root(ctx, func(root io.Reader) error {
		err := e.importRoot(ctx, root, unfinished, "LABEL "+labelImage+"=base")
		imported = err == nil
		return err
	})
	if err == nil {
		err = e.tag(ctx, unfinished, v.Image())
	}
	if imported {
		err = errors.Join(err, e.removeImage(ctx, unfinished))
	}
	return err
}
