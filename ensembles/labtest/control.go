package labtest

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"locklab/ensembles"
)

// WatchControl asks every agent of a lab for its status repeatedly until the returned function is called. Each agent
// must answer each time and soon, because no fault may affect the connection by which it is healed.
func WatchControl(t testing.TB, lab *ensembles.Lab) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	hosts := lab.Hosts(ensembles.Server, ensembles.Client, ensembles.Resource)
	asked, slowest := make([]int, len(hosts)), make([]time.Duration, len(hosts))
	for i, h := range hosts {
		wg.Go(func() {
			tick := time.NewTicker(50 * time.Millisecond)
			defer tick.Stop()
			for {
				once, done := context.WithTimeout(ctx, 3*time.Second)
				begun := time.Now()
				_, err := h.Agent.Status(once)
				done()
				if ctx.Err() != nil {
					return
				}
				if err != nil {
					t.Errorf("control connection to %s: %v", h.Name, err)
				}
				asked[i]++
				slowest[i] = max(slowest[i], time.Since(begun))
				select {
				case <-tick.C:
				case <-ctx.Done():
					return
				}
			}
		})
	}
	return func() {
		cancel()
		wg.Wait()
		for i, h := range hosts {
			if asked[i] == 0 {
				t.Errorf("%s was never asked", h.Name)
			}
		}
		t.Logf("each agent answered at least %d times, and within %v at most", slices.Min(asked), slices.Max(slowest))
	}
}
