package recipes

import (
	"testing"
)

// A lock keeps its own copy of its data: a caller that changes the slice changes neither what is stored nor, to the
// bytes that revoke a lock, whether its own holds look revoked.
func TestDataIsCopied(t *testing.T) {
	for recipe, lock := range map[string]func(*Session, []byte) (Lock, error){
		"mutex": func(s *Session, data []byte) (Lock, error) {
			return NewMutex(MutexConfig{Session: s, Path: "/a", Data: data})
		},
		"rw": func(s *Session, data []byte) (Lock, error) {
			rw, err := NewRW(RWConfig{Session: s, Path: "/a", Data: data})
			return rw.Write(), err
		},
		"semaphore": func(s *Session, data []byte) (Lock, error) {
			sem, err := NewSemaphore(SemaphoreConfig{Session: s, Path: "/a", Max: 2, Data: data})
			return sem.Of(2), err
		},
		"semaphore-mutex": func(s *Session, data []byte) (Lock, error) {
			return NewSemaphoreMutex(SemaphoreMutexConfig{Session: s, Path: "/a", Data: data})
		},
		"naive": func(s *Session, data []byte) (Lock, error) {
			return NewNaiveMutex(NaiveConfig{Session: s, Path: "/a", Data: data})
		},
	} {
		svc := newFakeService()
		s, _ := svc.session(t, nil)
		data := []byte("-my--data-")
		l, err := lock(s, data)
		if err != nil {
			t.Fatal(err)
		}
		copy(data, revokeData)
		h := acquired(t, l)
		select {
		case <-h.Revoked():
			t.Errorf("%s: the hold revokes itself", recipe)
		default:
		}
		for _, node := range svc.ephemerals() {
			stored := string(svc.data(node))
			if recipe == "naive" {
				stored = stored[guidSize:]
			}
			if stored != "-my--data-" {
				t.Errorf("%s: %s contains %q", recipe, node, stored)
			}
		}
		released(t, h)
	}
}
