package zksession

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"locklab/recipes/internal/tasks"
)

// failures are the last failures to connect, by server.
type failures struct {
	mu      sync.Mutex
	servers []string // in the order of their first failures
	last    map[string]error
}

// note takes note of a failure.
func (f *failures) note(server string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Contains(f.servers, server) {
		f.servers = append(f.servers, server)
	}
	if f.last == nil {
		f.last = map[string]error{}
	}
	f.last[server] = err
}

// errUntried is why there is no connection where no try has failed.
var errUntried = errors.New("no server has answered yet")

// explain returns err with the last failure of each server.
func (f *failures) explain(err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.servers) == 0 {
		return fmt.Errorf("%w: %w", err, errUntried)
	}
	for _, server := range f.servers {
		err = fmt.Errorf("%w; %s: %w", err, server, f.last[server])
	}
	return err
}

// warn logs one warning if there is no session when the timeout has passed, unless the caller's own caller has been
// told before: see [tasks.Told]. It is called when a session is wanted, and its result when there is one, or none is
// wanted any more.
func (f *failures) warn(ctx context.Context, cfg Config) (over func()) {
	if tasks.Told(ctx) {
		return func() {}
	}
	late := time.AfterFunc(cfg.Timeout, func() {
		cfg.Logger.Warn("no ZooKeeper server has answered yet; the client keeps trying",
			"servers", cfg.Servers, "for", cfg.Timeout, "error", f.explain(errNoSession))
	})
	return func() { late.Stop() }
}

// errNoSession is what there is to explain while the client keeps trying.
var errNoSession = errors.New("no session")
