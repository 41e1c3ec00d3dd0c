package chaos

import (
	"testing"
	"time"

	"locklab/ensembles"
)

// One late answer does not make up for prompt ones, and a jitter as large as the delay does not excuse all of them.
func TestDelayedAnswers(t *testing.T) {
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		delay, jitter time.Duration
		took          []time.Duration
		held          bool
	}{
		"without jitter":               {100 * ms, 0, []time.Duration{200 * ms, 201 * ms}, true},
		"one is prompt":                {100 * ms, 0, []time.Duration{900 * ms, 199 * ms}, false},
		"within the jitter":            {100 * ms, 50 * ms, []time.Duration{100 * ms, 290 * ms}, true},
		"beyond the jitter":            {100 * ms, 50 * ms, []time.Duration{99 * ms, 290 * ms}, false},
		"jitter as large as the delay": {100 * ms, 100 * ms, []time.Duration{1 * ms, 250 * ms, 300 * ms}, true},
		"nothing but noise":            {100 * ms, 100 * ms, []time.Duration{1 * ms, 2 * ms, 30 * ms}, false},
	} {
		l := latency{ends: ends{host: &ensembles.Host{Name: "c1"}}, delay: c.delay, jitter: c.jitter}
		if err := l.delayed(&ensembles.Host{Name: "zk1"}, c.took); (err == nil) != c.held {
			t.Errorf("%s: %v", name, err)
		}
	}
}
