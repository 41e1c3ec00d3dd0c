package zktest_test

import (
	"context"
	"testing"
	"time"

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

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// skipUnderRace skips a test that reconnects: go-zookeeper itself has a data race there.
func skipUnderRace(t *testing.T) {
	t.Helper()
	if raceDetector {
		t.Skip("reconnects; go-zookeeper has a data race of its own there")
	}
}
