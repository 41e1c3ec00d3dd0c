package agent

import (
	"errors"

	"locklab/harness/fail"
)

// ErrNoProcess answers a request that needs the host's process when there is none.
var ErrNoProcess = errors.New("the host's process is not running")

// ErrUnsupported answers a request for a fault that the host cannot carry out. The error that wraps it names the
// capability that is missing.
var ErrUnsupported = fail.Environment.New("not supported here")
