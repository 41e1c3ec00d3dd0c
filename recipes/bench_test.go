package recipes

import (
	"testing"
	"time"
)

func BenchmarkUncontended(b *testing.B) {
	for name, newLock := range map[string]func(*Session) (Lock, error){
		"mutex": func(s *Session) (Lock, error) {
			return NewMutex(MutexConfig{Session: s, Path: "/recipes-test/bench-mutex"})
		},
		"semaphore-mutex": func(s *Session) (Lock, error) {
			return NewSemaphoreMutex(SemaphoreMutexConfig{Session: s, Path: "/recipes-test/bench-semaphore-mutex"})
		},
		"naive": func(s *Session) (Lock, error) {
			return NewNaiveMutex(NaiveConfig{Session: s, Path: "/recipes-test/bench-naive"})
		},
	} {
		b.Run(name, func(b *testing.B) {
			s, err := Connect(b.Context(), SessionConfig{Servers: servers(b), Timeout: 4 * time.Second})
			if err != nil {
				b.Fatal(err)
			}
			l, err := newLock(s)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				h, err := l.Acquire(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				if err := h.Release(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			if err := s.Close(b.Context()); err != nil {
				b.Error(err)
			}
		})
	}
}
