package recipes

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"locklab/recipes/zksession"
	"locklab/recipes/zktest"
)

// A hold that was lost and is not released is logged once, a session timeout after the loss. A hold that is released in
// time is not, nor one whose session is over.
func TestUnreleasedHoldIsLogged(t *testing.T) {
	for name, c := range map[string]struct {
		after func(*testing.T, *Session, *Hold) // the loss
		want  int
	}{
		"never released": {func(*testing.T, *Session, *Hold) {}, 1},
		"released in time": {func(t *testing.T, _ *Session, h *Hold) {
			if err := h.Release(t.Context()); err == nil {
				t.Error("released a hold that was lost")
			}
		}, 0},
		"one entry is left": {func(t *testing.T, _ *Session, h *Hold) { _ = h.Release(t.Context()) }, 1},
		"session closed": {func(t *testing.T, s *Session, _ *Hold) {
			if err := s.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				logged := make(lines, 100)
				svc := zktest.New(zktest.Config{})
				s := NewSession(svc.Session(zktest.SessionConfig{Timeout: 4 * time.Second}), slog.New(
					slog.NewTextHandler(logged, &slog.HandlerOptions{Level: slog.LevelWarn})))
				mutex, err := NewMutex(MutexConfig{Session: s, Path: "/locks/a"})
				if err != nil {
					t.Fatal(err)
				}
				h, err := mutex.Acquire(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if name == "one entry is left" {
					if err := h.Reenter(); err != nil {
						t.Fatal(err)
					}
				}
				h.lose(ErrLeaseExpired)
				lost := time.Now()
				c.after(t, s, h)
				for range 3 {
					time.Sleep(s.Timeout() - 1)
					synctest.Wait()
					if early := time.Since(lost) < s.Timeout(); early && len(logged) > 0 {
						t.Errorf("logged at once: %s", <-logged)
					}
				}
				if len(logged) != c.want {
					t.Fatalf("logged %d times, want %d", len(logged), c.want)
				}
				if c.want > 0 {
					if line := <-logged; !strings.Contains(line, h.Path()) || !strings.Contains(line, "lease expired") {
						t.Errorf("logged %s", line)
					}
				}
				_ = s.Close(context.Background())
			})
		})
	}
}

// A released hold costs no warning later.
func TestReleasedHoldIsNotLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logged := make(lines, 100)
		svc := zktest.New(zktest.Config{})
		s := NewSession(svc.Session(zktest.SessionConfig{Timeout: 4 * time.Second}),
			slog.New(slog.NewTextHandler(logged, &slog.HandlerOptions{Level: slog.LevelWarn})))
		h, err := newSemaphore(t, SemaphoreConfig{Session: s, Max: 2}).Acquire(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * s.Timeout())
		synctest.Wait()
		if len(logged) > 0 || s.Err() != nil {
			t.Errorf("logged %d times; session %v", len(logged), s.Err())
		}
		if err := s.Close(t.Context()); err != nil && s.Err() != zksession.ErrSessionClosed {
			t.Error(err)
		}
	})
}

// lines are what was logged, a line each.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}
