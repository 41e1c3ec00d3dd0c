package harness

import (
	"fmt"
	"testing"
)

func TestTmpPair(t *testing.T) {
	g := openGround(t)
	for i := range 10 {
		if !t.Run(fmt.Sprint(i), func(t *testing.T) { g.pairs(t, 3) }) {
			return
		}
	}
}
