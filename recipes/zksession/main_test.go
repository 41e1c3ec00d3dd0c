package zksession

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"locklab/ensembles/labtest/apart"
)

// ensemble is the real ensemble that this package's tests share.
var ensemble apart.PerPackage

func TestMain(m *testing.M) { ensemble.Main(m, func() error { return goleak.Find() }) }

// testTimeout is how long a test waits for something that must happen.
const testTimeout = 30 * time.Second

// within returns a context for something that must happen in time.
func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	t.Cleanup(cancel)
	return ctx
}

// freshPath returns the path of a znode that no other test, and no earlier run, uses.
func freshPath() string { return "/session-test-" + uuid.NewString() }

// config completes a configuration with the ensemble's servers and the other settings that a test needs.
func config(t *testing.T, cfg Config) Config {
	t.Helper()
	cfg.Servers, cfg.Timeout = ensemble.Servers(t), 4*time.Second
	cfg.Logger = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
	return cfg
}

// connected returns a session on the real ensemble, closed after the test.
func connected(t *testing.T, cfg Config) ZooKeeper {
	t.Helper()
	cfg = config(t, cfg) // before the time runs: this may start the ensemble
	s, err := Connect(within(t), cfg)
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, s.Close)
	return s
}

// closeAfter closes a client after the test.
func closeAfter(t *testing.T, end func(context.Context) error) {
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), testTimeout)
		defer cancel()
		if err := end(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
}

// skipUnderRace skips a test that reconnects: go-zookeeper itself has a data race there.
func skipUnderRace(t *testing.T) {
	t.Helper()
	if raceDetector {
		t.Skip("reconnects; go-zookeeper has a data race of its own there")
	}
}

// killed waits until the service has ended the session of a wire.
func killed(t *testing.T, kill func(server string) bool) {
	t.Helper()
	ctx := within(t)
	for server := ensemble.Servers(t)[1]; !kill(server); {
		if ctx.Err() != nil {
			t.Fatal("the session was not killed in time")
		}
	}
}
