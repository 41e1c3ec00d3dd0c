package result

import (
	"fmt"

	"locklab/harness/rundir"
	"locklab/harness/untrusted"
)

// Read reads the result of the run in a directory. Its texts are safe to show.
func Read(dir string) (*Result, error) {
	var r Result
	if err := rundir.ReadResult(dir, &r); err != nil {
		return nil, fmt.Errorf("result of %s: %w", dir, err)
	}
	untrusted.Lines(&r)
	return &r, nil
}
