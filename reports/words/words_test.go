package words

import "testing"

// A share has three digits, and is 0 % or 100 % only if it is none or all.
func TestShare(t *testing.T) {
	for share, want := range map[float64]string{0: "0 %", 0.00001234: "0.00123 %", 0.05: "5 %", 0.1234: "12.3 %",
		0.9996: "99.96 %", 0.999996: "99.9996 %", 1: "100 %", 2.5: "250 %"} {
		if got := Share(share); got != want {
			t.Errorf("%v is written as %q, want %q", share, got, want)
		}
	}
}
