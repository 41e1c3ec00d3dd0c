package run

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A server is strained if three answers in a row were bad: slow, none at all, or a refusal.
func TestStrainWatch(t *testing.T) {
	const limit = 500 * time.Millisecond
	for _, c := range []struct {
		name    string
		answers []time.Duration // the last goes on for ever; 0 is a refusal
		waiting int
		after   time.Duration
		want    string
	}{
		{"quick", []time.Duration{time.Millisecond}, 0, time.Hour, ""},
		{"as slow as it may be", []time.Duration{limit}, 0, time.Hour, ""},
		{"slow now and then", []time.Duration{1, 2 * limit, 2 * limit, 1, 2 * limit, 2 * limit, 1}, 0, time.Hour, ""},
		{"slow", []time.Duration{1, limit + 1}, 0, 3*time.Second + limit + 1,
			"took 500ms to commit a write, and max-latency is 500ms, 3 times in a row"},
		{"hanging", []time.Duration{1, time.Minute}, 0, 4 * time.Second,
			"committed no write within 1s, and max-latency is 500ms, 3 times in a row"},
		{"refusing", []time.Duration{0}, 0, 2 * time.Second, "refused a write (no quorum), 3 times in a row"},
		{"busy", []time.Duration{1}, mostOutstanding, time.Hour, ""},
		{"overloaded", []time.Duration{1}, mostOutstanding + 1, 2 * time.Second, "had 501 requests waiting, more than 500"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := 0
				p := strainWatch{limit: limit,
					outstanding: func(context.Context) (int, bool) { return c.waiting, c.waiting > 0 },
					ping: func(ctx context.Context) (time.Duration, error) {
						d := c.answers[min(n, len(c.answers)-1)]
						n++
						if d == 0 {
							return 0, errors.New("no quorum")
						}
						select {
						case <-time.After(d):
							return d, nil
						case <-ctx.Done():
							return 0, ctx.Err()
						}
					}}
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				begun := time.Now()
				got := p.watch(ctx)
				if took := time.Since(begun); took != c.after || !strings.Contains(got, c.want) || c.want == "" && got != "" {
					t.Errorf("after %v: %q, want after %v: %q", took, got, c.after, c.want)
				}
			})
		})
	}
}
