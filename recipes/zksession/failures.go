package zksession

import (
	"errors"
	"fmt"
	"slices"
	"sync"
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
