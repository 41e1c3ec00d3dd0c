package chaos

import (
	"testing"
	"time"
)

// A span is read in each of its forms, resolved by the session timeout and the tick, and written as it is read.
func TestSpans(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"3s":        3 * time.Second,
		"0":         0,
		"1.5T":      3 * time.Second,
		"0.67T":     1340 * time.Millisecond,
		"expiry":    2400 * time.Millisecond,
		"expiry+1s": 3400 * time.Millisecond,
	} {
		sp, err := parseSpan(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := sp.Resolve(2*time.Second, 200*time.Millisecond); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
		if reread, err := parseSpan(sp.String()); err != nil || reread != sp {
			t.Errorf("%s is written as %s: %v, %v", text, sp, reread, err)
		}
	}
	for _, text := range []string{"", "T", "-1T", "1e3T", "0x1T", "NaNT", "InfT", "1001T", "expiry-1s", "expiry1s",
		"expiry+-1s", "expiry+", "Expiry", "superseded", "25h", "expiry+2562047h"} {
		if sp, err := parseSpan(text); err == nil {
			t.Errorf("%q is %v, want an error", text, sp)
		}
	}
}
