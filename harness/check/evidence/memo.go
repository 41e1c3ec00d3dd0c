package evidence

import "sync"

// A Memo keeps what has been found out, by what it is about. Checks that run at the same time share it. The zero value
// is empty.
type Memo[K comparable, V any] struct {
	mu    sync.Mutex
	known map[K]V
}

// Of returns what find returns, which must depend on nothing but the key. Two goroutines that ask for the same key at
// once may both call find, which may ask the memo itself.
func (m *Memo[K, V]) Of(key K, find func() V) V {
	m.mu.Lock()
	v, known := m.known[key]
	m.mu.Unlock()
	if known {
		return v
	}
	v = find()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil {
		m.known = map[K]V{}
	}
	m.known[key] = v
	return v
}
