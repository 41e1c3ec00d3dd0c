package runpage

import (
	"image/color"
	"slices"

	"locklab/harness/history"
	"locklab/reports/chart"
	"locklab/reports/result"
)

// A palette has the place and the colour of each client, which are the same in every picture of a run, and of every run
// of a lab whose clients have the same names: they follow from the names alone.
type palette map[string]int

func newPalette(acq []history.Acquisition) palette {
	p := palette{}
	for i := range acq {
		p[acq[i].Client] = 0
	}
	names := make([]string, 0, len(p))
	for c := range p {
		names = append(names, c)
	}
	slices.SortFunc(names, result.CompareNatural)
	for i, c := range names {
		p[c] = i
	}
	return p
}

// color is the colour of a client, grey of one that is not known.
func (p palette) color(client string) color.NRGBA {
	if i, known := p[client]; known {
		return chart.Owners[i%len(chart.Owners)]
	}
	return chart.LightGrey
}

// order sorts clients by their places.
func (p palette) order(clients []string) {
	slices.SortFunc(clients, func(a, b string) int { return p[a] - p[b] })
}
