package runpage

import "testing"

// A record of one grant may reach to the end of time.
func TestBinWidth(t *testing.T) {
	for seconds, most := range map[float64]float64{1: 20, 60: 240, 3600: 240, 1e6: 16_700, 9.3e9: 1001} {
		if bins := seconds / binWidth(seconds, 1); bins > most {
			t.Errorf("%g s in %g bins, want at most %g", seconds, bins, most)
		}
	}
}
