package recipes

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"locklab/recipes/zksession"
)

func BenchmarkUncontended(b *testing.B) {
	for name, newLock := range map[string]func(*Session) (Lock, error){
		"mutex": func(s *Session) (Lock, error) {
			return NewMutex(MutexConfig{Session: s, Path: "/recipes-test/bench-mutex"})
		},
		"semaphore-mutex": func(s *Session) (Lock, error) {
			return NewSemaphoreMutex(SemaphoreMutexConfig{Session: s, Path: "/recipes-test/bench-semaphore-mutex"})
		},
		"rw/write": func(s *Session) (Lock, error) { return benchRW(s, true) },
		"rw/read":  func(s *Session) (Lock, error) { return benchRW(s, false) },
		"naive": func(s *Session) (Lock, error) {
			return NewNaiveMutex(NaiveConfig{Session: s, Path: "/recipes-test/bench-naive"})
		},
	} {
		b.Run(name, func(b *testing.B) {
			s, err := Connect(
				b.Context(),
				SessionConfig{Config: zksession.Config{Servers: servers(b), Timeout: 4 * time.Second}},
			)
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

// BenchmarkQueue measures what a list of a thousand contenders costs the client after it has read it.
func BenchmarkQueue(b *testing.B) {
	names := make([]string, 1000)
	for i := range names {
		names[i] = fmt.Sprintf("%s%010d", protectedPrefix(uuid.NewString(), mutexLayout[0]), (i*7919)%len(names))
	}
	for b.Loop() {
		if q := mutexLayout.queue(names); len(q) != len(names) {
			b.Fatal(len(q))
		}
	}
}

// benchRW returns one of the two locks of a read/write lock.
func benchRW(s *Session, write bool) (Lock, error) {
	rw, err := NewRW(RWConfig{Session: s, Path: "/recipes-test/bench-rw"})
	if err != nil {
		return nil, err
	}
	return side(rw, write), nil
}
