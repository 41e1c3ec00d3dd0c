package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"locklab/recipes/curator"
)

type curatorCmd struct{}

// Run compiles the driver of Curator to where runs look for it, beside the binary. Runs would compile it themselves,
// but a set-up that fails should fail before anything else begins.
func (curatorCmd) Run(ctx context.Context, std streams) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	jars, err := curator.Jars()
	if err != nil {
		return err
	}
	jar, err := curator.Build(ctx, filepath.Dir(self), jars)
	if err != nil {
		return err
	}
	fmt.Fprintln(std.Out, jar)
	return nil
}
