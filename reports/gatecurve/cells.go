package gatecurve

import (
	"locklab/reports/compare"
)

// A Cell is one kind of comparison.
type Cell struct {
	Name string
	// Short is the name in the picture.
	Short string
	// About says how the head differs from the base.
	About string
	// Control is the recipe of package broken that is the head's lock; empty = the base's own lock.
	Control string
	// Slower is by which share of the measured hand-off the head's hand-off is longer; 0 = the control has a size of
	// its own.
	Slower float64
	// Wanted is how many comparisons are to be made. Of so many, at least Least should be called, or at most Most of
	// those where nothing differs.
	Wanted, Least, Most int
	// Weather is Least under a load that comes and goes; 0 = the cell is not measured there, unless it is [Same].
	Weather int
}

// cellsIn returns the cells that are measured under a load that comes and goes, with their goals there, or those that
// are measured without one.
func cellsIn(weather bool) (all []Cell) {
	for _, c := range cells {
		if weather {
			c.Least = c.Weather
		}
		if !weather || c.Weather > 0 || c.Name == Same {
			all = append(all, c)
		}
	}
	return all
}

// cells are all cells, in the order of the table.
var cells = []Cell{
	{Name: Same, Short: "same code", About: "the same code", Wanted: 60, Most: 2},
	{Name: "handoff-10", Short: "+10 %", About: "hand-off 10 % longer", Control: slowRelease, Slower: 0.10, Wanted: 20,
		Least: 16},
	{Name: "handoff-20", Short: "+20 %", About: "hand-off 20 % longer", Control: slowRelease, Slower: 0.20, Wanted: 40,
		Least: 38, Weather: 30},
	{Name: "handoff-40", Short: "+40 %", About: "hand-off 40 % longer", Control: slowRelease, Slower: 0.40, Wanted: 10,
		Least: 10},
	{Name: "tail", Short: "tail", About: "one of 50 grants 20 ms late", Control: "late-grant", Wanted: 20, Least: 16,
		Weather: 16},
	{Name: "requests", Short: "requests", About: "one request more per acquisition", Control: "extra-request",
		Wanted: 10, Least: 9},
}

// Same is the name of the cell where nothing differs.
const Same = "same"

// slowRelease is the control whose size is chosen.
const slowRelease = "slow-release"

// mostOpen is the share of comparisons of the same code that may be inconclusive.
const mostOpen = 0.05

// called reports whether a verdict calls what the cell's head is: any change of the same code, and only a regression
// of what is slower.
func (c Cell) called(v compare.Verdict) bool {
	return v == compare.Regressed || c.Name == Same && v == compare.Improved
}

// Next returns the cell that is to be compared next on a machine: the one with the smallest part of its comparisons
// made and, of several, the one of which most are wanted. ok is false if there are as many of all as are wanted.
func Next(records []Record, machine string, weather bool) (next Cell, ok bool) {
	least := 1.0
	for _, c := range cellsIn(weather) {
		made := 0
		for _, r := range records {
			if r.Cell == c.Name && r.Machine == machine {
				made++
			}
		}
		if part := float64(made) / float64(c.Wanted); part < least || ok && part == least && c.Wanted > next.Wanted {
			next, least, ok = c, part, true
		}
	}
	return next, ok
}
