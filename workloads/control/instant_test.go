package control

import (
	"fmt"
	"testing"
)

// The instant of a fault depends on the seed and on its name, and is spread evenly over the hold.
func TestInstantsAreEvenAndFollowTheSeed(t *testing.T) {
	if InstantOf(1, "f1") != InstantOf(1, "f1") || InstantOf(1, "f1") == InstantOf(2, "f1") ||
		InstantOf(1, "f1") == InstantOf(1, "f2") {
		t.Error("an instant does not follow the seed and the name")
	}
	const n, parts = 10_000, 10
	var in [parts]int
	for i := range n {
		in[int(InstantOf(1, fmt.Sprintf("f%d", i))*parts)]++
	}
	for i, got := range in {
		if want := n / parts; got < want*9/10 || got > want*11/10 { // 3 standard deviations are 9 %
			t.Errorf("part %d of the hold has %d instants of %d, want about %d", i, got, n, want)
		}
	}
}
