package broken

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"locklab/recipes"
	"locklab/recipes/zksession"
)

// Connect returns a plain client, as most published locks are built on, once there is a session or ctx ends. The
// client makes a new session when one has expired, and sends there what it has queued. Its requests wait while no
// server can be reached.
func Connect(ctx context.Context, cfg zksession.Config) (*zksession.Plain, error) {
	lost := func(err error) error { return fmt.Errorf("%w: %w", recipes.ErrLockLost, err) }
	return zksession.ConnectPlain(ctx, zksession.PlainConfig{Config: cfg, Lost: lost, KeepRequests: true})
}

// A session is one of the sessions that a client has one after another.
type session = zksession.PlainSession

// A client repeats requests until they are answered.
type client struct{ *zksession.Plain }

// answered reports whether err is nil or a server's answer. go-zookeeper has no values for some answers, only text.
func answered(err error) bool {
	return err == nil || slices.Contains([]error{zk.ErrNoNode, zk.ErrNodeExists, zk.ErrBadVersion, zk.ErrNotEmpty,
		zk.ErrNoAuth, zk.ErrInvalidACL, zk.ErrInvalidPath, zk.ErrNoChildrenForEphemerals, zk.ErrBadArguments}, err) ||
		strings.HasPrefix(err.Error(), "unknown error")
}

// repeat repeats a request until it is answered, in whichever session.
func (c client) repeat(request func() error) error {
	for {
		err := request()
		if answered(err) {
			return err
		}
		if over := c.Err(); over != nil {
			return over
		}
	}
}
