package recipes

import "sync"

// tasks is a set of goroutines with one owner, who waits for them. Unlike a bare
// WaitGroup it may be asked to start one while it is being waited for, and refuses.
type tasks struct {
	mu     sync.Mutex
	closed bool
	wg     sync.WaitGroup
}

// start runs f in a goroutine, or returns false if the owner has begun to wait.
func (t *tasks) start(f func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return false
	}
	t.wg.Go(f)
	return true
}

// wait refuses further goroutines and waits for those that run.
func (t *tasks) wait() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.wg.Wait()
}
