package timeline

import (
	"image/color"
	"maps"
	"slices"

	"locklab/reports/chart"
	"locklab/reports/measure"
	"locklab/reports/result"
)

// A palette has the place and the colour of each client, which are the same in every picture of a run, and of every run
// of a lab whose scenarios have the same clients: they follow from the names alone.
type palette map[string]int

// NewPalette returns the palette of the clients that the scenario has, whether or not each did anything, or of those in
// the history if they are others.
func NewPalette(in result.Input) palette {
	planned, known := in.Scenario.ClientNames(), map[string]bool{}
	for _, c := range planned {
		known[c] = true
	}
	p := palette{}
	others := false
	for i := range in.Acquisitions {
		c := in.Acquisitions[i].Client
		p[c] = 0
		others = others || !known[c]
	}
	if !others {
		for _, c := range planned {
			p[c] = 0
		}
	}
	names := slices.Collect(maps.Keys(p))
	slices.SortFunc(names, measure.CompareNatural)
	for i, c := range names {
		p[c] = i
	}
	return p
}

// Color is the colour of a client, grey of one that is not known.
func (p palette) Color(client string) color.NRGBA {
	if i, known := p[client]; known {
		return chart.Owners[i%len(chart.Owners)]
	}
	return chart.LightGrey
}

// Order sorts clients by their places.
func (p palette) Order(clients []string) {
	slices.SortFunc(clients, func(a, b string) int { return p[a] - p[b] })
}
