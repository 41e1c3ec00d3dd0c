package chaos

import (
	"maps"
	"slices"
	"sync"
)

// inForce keeps the list of the faults in force, and reports the list whenever it changes.
type inForce struct {
	report func([]string)

	mu    sync.Mutex
	names map[string]string
}

// set says what a fault does now. An empty text removes the fault from the list.
func (f *inForce) set(id, what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if what == "" {
		delete(f.names, id)
	} else {
		f.names[id] = what
	}
	if f.report != nil {
		f.report(slices.Sorted(maps.Values(f.names)))
	}
}
