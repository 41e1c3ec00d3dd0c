package tasks

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A context with a grace ends at the later of two moments: with the context within, or when the grace is over.
func TestGrace(t *testing.T) {
	for _, c := range []struct{ within, want time.Duration }{
		{0, time.Second}, {time.Second / 2, time.Second}, {3 * time.Second, 3 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), c.within)
			defer cancel()
			begun := time.Now()
			g, stop := Grace(ctx, time.Second)
			defer stop()
			if err := g.Err(); err != nil {
				t.Errorf("within %s: at first: %v", c.within, err)
			}
			<-g.Done()
			if took := time.Since(begun); took != c.want || !errors.Is(Ended(g), context.DeadlineExceeded) {
				t.Errorf("within %s: ended after %s, %v; want %s", c.within, took, Ended(g), c.want)
			}
			if d, ok := g.Deadline(); !ok || d.Sub(begun) != c.want {
				t.Errorf("within %s: deadline after %s, %t", c.within, d.Sub(begun), ok)
			}
		})
	}
	endless := context.Background()
	if g, stop := Grace(endless, time.Second); g != endless || stop == nil {
		t.Error("a context without an end got one")
	}
}
