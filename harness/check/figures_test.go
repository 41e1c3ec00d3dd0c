package check

import (
	"math"
	"testing"

	"locklab/harness/check/evidence"
)

// A length of time has three significant digits, and whole seconds or milliseconds beyond that.
func TestFigures(t *testing.T) {
	for _, c := range []struct {
		ns             int64
		length, millis string
	}{
		{243_747, "0.000244 s", "0.244 ms"},
		{12_345_678, "0.0123 s", "12.3 ms"},
		{999_499_999, "0.999 s", "999 ms"},
		{5_123_456_789, "5.12 s", "5123 ms"},
		{272_400_000_000, "272 s", "272400 ms"},
	} {
		if got := evidence.Length(c.ns); got != c.length {
			t.Errorf("%d ns: %q, want %q", c.ns, got, c.length)
		}
		if got := evidence.Millis(c.ns); got != c.millis {
			t.Errorf("%d ns: %q, want %q", c.ns, got, c.millis)
		}
	}
	if got := evidence.Length(math.MaxInt64); got != "never" {
		t.Errorf("the end of time: %q", got)
	}
}
