package chaos

import (
	"maps"
	"slices"
	"sync"
)

// inForce keeps the list of faults in force for whoever shows it.
type inForce struct {
	tell func([]string)

	mu    sync.Mutex
	names map[string]string
}

// set says what a fault does now; empty = nothing any more.
func (f *inForce) set(id, what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if what == "" {
		delete(f.names, id)
	} else {
		f.names[id] = what
	}
	if f.tell != nil {
		f.tell(slices.Sorted(maps.Values(f.names)))
	}
}
