package zksession

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"locklab/recipes/internal/tasks"
)

// Whoever waits for a session that nobody grants is told once, when the session timeout has passed, and by the error
// when its context ends: which servers were tried, and what was wrong with each. Whoever has been told before is told
// by the error alone.
func TestNobodyAtTheAddress(t *testing.T) {
	for name, connect := range map[string]func(context.Context, Config) error{
		"session": func(ctx context.Context, cfg Config) error { _, err := Connect(ctx, cfg); return err },
		"plain": func(ctx context.Context, cfg Config) error {
			_, err := ConnectPlain(ctx, PlainConfig{Config: cfg})
			return err
		},
		"plain that keeps requests": func(ctx context.Context, cfg Config) error {
			_, err := ConnectPlain(ctx, PlainConfig{Config: cfg, KeepRequests: true})
			return err
		},
	} {
		for told, want := range map[bool]int{false: 1, true: 0} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					if told {
						ctx = tasks.Tell(ctx)
					}
					logged, begun := make(lines, 100), time.Now()
					cfg := Config{Servers: []string{"zk1:2181", "zk2:2181"}, Timeout: 4 * time.Second,
						Logger: slog.New(slog.NewTextHandler(logged, nil)),
						Dial: func(context.Context, string, string) (net.Conn, error) {
							return nil, errors.New("nobody listens")
						}}
					warned := make(chan time.Duration, 1)
					go func() {
						for range time.Tick(time.Second) {
							if len(logged) > 0 || ctx.Err() != nil {
								warned <- time.Since(begun)
								return
							}
						}
					}()
					err := connect(ctx, cfg)
					if !errors.Is(err, context.DeadlineExceeded) || !names(err.Error()) {
						t.Errorf("%v", err)
					}
					if len(logged) != want {
						t.Fatalf("logged %d times, want %d", len(logged), want)
					}
					if at := <-warned; want > 0 && at > cfg.Timeout+time.Second {
						t.Errorf("warned after %v", at)
					}
					if want > 0 {
						if line := <-logged; !names(line) {
							t.Errorf("logged %s", line)
						}
					}
				})
			})
		}
	}
}

// names reports whether a text names the servers and what is wrong with them.
func names(text string) bool {
	return strings.Contains(text, "zk1:2181: nobody listens") && strings.Contains(text, "zk2:2181: nobody listens")
}

// lines are what was logged, a line each.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}
