package runpage

import (
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
)

// Every point is counted once, in the cell of its time and of the logarithm of its height.
func TestHeat(t *testing.T) {
	x, y := plot.Axis{Min: 0, Max: 60}, plot.Axis{Min: 1, Max: 1 << heatRows}
	points := plotter.XYs{{X: 0.5, Y: 1.5}, {X: 0.9, Y: 1.1}, {X: 59.5, Y: 1<<23 + 1}, {X: 60, Y: 1 << 24}, {X: 3, Y: 1}}
	h := newHeat(points, x, y)
	for _, c := range []struct {
		column, row int
		want        int64
	}{{0, 0, 2}, {59, 23, 2}, {3, 0, 1}, {1, 0, 0}} {
		if got := h.counts[c.column][c.row]; got != c.want {
			t.Errorf("cell %d, %d has %d, want %d", c.column, c.row, got, c.want)
		}
	}
	h.most = 1000
	if h.level(1) != 0 || h.level(1000) != heatLevels-1 || h.level(30) <= 0 || h.level(30) >= heatLevels-1 {
		t.Errorf("levels %d, %d, %d", h.level(1), h.level(30), h.level(1000))
	}
}
