package gatecurve

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"locklab/reports/compare"
)

// A Row is what became of the comparisons of one cell on one machine.
type Row struct {
	Machine string
	Cell    Cell
	// Called comparisons called what the head is, Open ones were inconclusive, and Passed ones neither. A violation or
	// a gain of a head that is slower counts as passed, because it was not called.
	Called, Open, Passed Rate
	// Minutes is how long a comparison took until its answer, the median, and Longest is the longest. 0 without
	// comparisons.
	Minutes, Longest float64
	// Change is the median change of the hand-off, head to base; 0 without comparisons.
	Change float64
}

// Rows returns the rows of all cells on each machine, machines in the order in which they appear. Without records, it
// is one machine without a name. The answers are those of today's statistics, see [Record.Replay].
func Rows(records []Record) (rows []Row, err error) {
	machines := []string{}
	weather := map[string]bool{}
	for _, r := range records {
		if !slices.Contains(machines, r.Machine) {
			machines = append(machines, r.Machine)
		}
		weather[r.Machine] = r.Weather
	}
	if len(machines) == 0 {
		machines = append(machines, "")
	}
	for _, m := range machines {
		for _, c := range cellsIn(weather[m]) {
			row := Row{Machine: m, Cell: c}
			var minutes, changes []float64
			for i := range records {
				r := &records[i]
				if r.Machine != m || r.Cell != c.Name {
					continue
				}
				verdict, took, err := r.Replay()
				if err != nil {
					return nil, fmt.Errorf("comparison %d: %w", i+1, err)
				}
				row.count(verdict)
				s := r.Samples[handoff]
				minutes, changes = append(minutes, took), append(changes, median(known(s.Head))/median(known(s.Base)))
				row.Longest = max(row.Longest, took)
			}
			row.Minutes, row.Change = median(minutes), median(changes)
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// handoff is the path of the quantity that the controls of the hand-off change.
const handoff = "latency.handoff.p50_ns"

// known returns the values that are there.
func known(values []*float64) (all []float64) {
	for _, v := range values {
		if v != nil {
			all = append(all, *v)
		}
	}
	return all
}

// median returns the median of values, 0 without any.
func median(values []float64) float64 {
	s, n := slices.Sorted(slices.Values(values)), len(values)
	if n == 0 {
		return 0
	}
	return (s[(n-1)/2] + s[n/2]) / 2
}

// Delay returns by how much the releases of a cell's head are to be delayed on a machine, so that its hand-offs are
// longer by what the cell says; 0 without recent comparisons. These are what the machine did lately, the oldest first.
// Only they tell how long a hand-off takes, because a machine of the same name may be twice as fast on another day.
//
// Part of a delay is hidden: while a holder waits before it releases, the servers do the other clients' requests, which
// would have come between. How much of a delay shows is told by the cell's comparisons so far, because less shows of a
// longer one; before there is any, by those with another delay; before there is any of these, the whole of it.
func Delay(records, recent []Record, machine string, c Cell) time.Duration {
	var shows, own []float64
	for i := range records {
		if r := &records[i]; r.Machine == machine && r.DelayNs > 0 {
			s := r.Samples[handoff]
			shows = append(shows, (median(known(s.Head))-median(known(s.Base)))/float64(r.DelayNs))
			if r.Cell == c.Name {
				own = append(own, shows[len(shows)-1])
			}
		}
	}
	if len(own) > 0 {
		shows = own
	}
	shown := 1.0
	if len(shows) > 0 {
		shown = min(max(median(shows), leastShown), 1)
	}
	return time.Duration(c.Slower * handOff(recent) / shown).Round(10 * time.Microsecond)
}

// leastShown bounds the delay where noise hides it.
const leastShown = 0.4

// handOff returns the median hand-off of the bases of the last comparisons, in nanoseconds; 0 if there are none.
func handOff(recent []Record) float64 {
	const last = 3
	var all []float64
	for _, r := range recent[max(0, len(recent)-last):] {
		all = append(all, known(r.Samples[handoff].Base)...)
	}
	return median(all)
}

// count counts a verdict.
func (r *Row) count(v compare.Verdict) {
	switch {
	case r.Cell.called(v):
		r.Called.Count++
	case v == compare.Inconclusive:
		r.Open.Count++
	default:
		r.Passed.Count++
	}
	for _, rate := range []*Rate{&r.Called, &r.Open, &r.Passed} {
		rate.Of++
	}
}

// Comparisons is how many comparisons there are.
func (r *Row) Comparisons() int { return r.Called.Of }

// goal says what the cell should come to, and whether it does so far.
func (r *Row) goal() string {
	c, n := r.Cell, r.Comparisons()
	text := fmt.Sprintf("called in ≥ %d of %d", c.Least, c.Wanted)
	met := r.Called.Count*c.Wanted >= c.Least*n
	if c.Name == Same {
		text = fmt.Sprintf("called in ≤ %d of %d, ≤ %.0f %% inconclusive", c.Most, c.Wanted, 100*mostOpen)
		met = r.Called.Count*c.Wanted <= c.Most*n && float64(r.Open.Count) <= mostOpen*float64(n)
	}
	switch {
	case n == 0:
		return text
	case !met && n < c.Wanted:
		return text + ": missed so far"
	case !met:
		return text + ": missed"
	case n < c.Wanted:
		return text + ": met so far"
	}
	return text + ": met"
}

// Table writes the rows as a table in Markdown.
func Table(w io.Writer, rows []Row) error {
	var b strings.Builder
	b.WriteString("| machine | head against base | comparisons | called | inconclusive | passed | " +
		"minutes: median, longest | hand-off p50 | goal |\n|---|---|---:|---:|---:|---:|---:|---:|---|\n")
	for _, r := range rows {
		minutes, change := "not measured", "not measured"
		if r.Comparisons() > 0 {
			minutes, change = fmt.Sprintf("%.1f, %.1f", r.Minutes, r.Longest), fmt.Sprintf("×%.3f", r.Change)
		}
		fmt.Fprintf(&b, "| %s | %s | %d | %s | %s | %s | %s | %s | %s |\n", cmp.Or(r.Machine, "–"), r.Cell.About,
			r.Comparisons(), r.Called, r.Open, r.Passed, minutes, change, r.goal())
	}
	_, err := io.WriteString(w, b.String())
	return err
}
