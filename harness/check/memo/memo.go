// Package memo keeps what was found out, for goroutines that ask for it at the same time.
package memo

import "sync"

// A Once keeps what is found out once, however many goroutines ask for it at the same time.
type Once[V any] struct {
	once  sync.Once
	found V
}

// Of returns what find found, the first time that it was asked for.
func (o *Once[V]) Of(find func() V) V {
	o.once.Do(func() { o.found = find() })
	return o.found
}

// A Map keeps what has been found out, by what it is about. Checks that run at the same time share it. The zero value
// is empty.
type Map[K comparable, V any] struct {
	mu    sync.Mutex
	known map[K]V
}

// Of returns what find returns, which must depend on nothing but the key. Two goroutines that ask for the same key at
// once may both call find, which may ask the memo itself.
func (m *Map[K, V]) Of(key K, find func() V) V {
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
