package figures

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"locklab/reports/measure"
	"locklab/reports/result"
	"locklab/reports/words"
)

// heads are short headers of columns.
var heads = map[string]string{"acquired_per_s": "acquired/s", "server.requests_per_acquire": "requests",
	"load_per_acquire": "processor time, clients", "server_per_acquire": "processor time, servers",
	"handoff.p50": "hand-off p50", "handoff.p99": "hand-off p99", "handoff.max": "hand-off, at most",
	"acquire.max": "acquire, at most", "failover_mean": "failover, mean", "failover_max": "failover, at most",
	"held_share": "held", "handoff_share": "handed over", "server_processors": "server processors",
	"fsync_share_most": "in fsync at most", "fairness.jain": "Jain’s index", "fairness.hold_rsd": "deviation of holds"}

// Table writes the figure's table and its conditions in Markdown. Only rounds under the conditions of the newest
// undisturbed one count.
func (f *Figure) Table(w io.Writer, all []Record) error {
	if len(all) == 0 {
		_, err := fmt.Fprintf(w, "*Not measured yet: `make figures FIGURES=%s`.*\n", f.Name)
		return err
	}
	all, under := newest(all)
	var quantities []result.Quantity
	header := slices.Clone(f.Keys)
	for _, name := range f.Columns {
		q, ok := result.Named(name)
		if !ok {
			return fmt.Errorf("the figure %s: there is no number %s", f.Name, name)
		}
		quantities = append(quantities, q)
		header = append(header, cmp.Or(heads[name], strings.ReplaceAll(name, ".", " ")))
	}
	if f.Base != "" {
		header = append(header, "over …"+f.Base)
	}
	line := func(cells []string) { fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | ")) }
	line(header)
	fmt.Fprintln(w, strings.Repeat("|---", len(header))+"|")
	rows := f.rows(all)
	for _, rounds := range rows {
		cells := strings.Split(f.row(&rounds[0]), "\t")
		for i, name := range f.Columns {
			cells = append(cells, estimate(valuesOf(rounds, name), quantities[i].Show))
		}
		if f.Base != "" {
			ratio := func(v *float64) string { return words.Known(v, words.Ratio) }
			cells = append(cells, estimate(f.ratios(rounds, rows), ratio))
		}
		line(cells)
	}
	_, err := fmt.Fprintf(w, "\n%s\n", f.conditions(all, under))
	return err
}

// newest returns the rounds under the conditions of the newest undisturbed one, of which there is at least one.
func newest(all []Record) ([]Record, Conditions) {
	shown := slices.DeleteFunc(slices.Clone(all), func(r Record) bool { return !r.Shown() })
	if len(shown) == 0 {
		shown = all
	}
	under := slices.MaxFunc(shown, func(a, b Record) int { return a.Begun.Compare(b.Begun) }).Conditions
	return slices.DeleteFunc(slices.Clone(all), func(r Record) bool { return r.Conditions != under }), under
}

// rows returns the rounds that are shown, cell by cell, in the order in which cells were first measured.
func (f *Figure) rows(all []Record) (rows [][]Record) {
	at := map[string]int{}
	for i := range all {
		r := &all[i]
		if !r.Shown() {
			continue
		}
		cell := f.row(r)
		if _, known := at[cell]; !known {
			at[cell] = len(rows)
			rows = append(rows, nil)
		}
		rows[at[cell]] = append(rows[at[cell]], *r)
	}
	piece := map[string]int{}
	for _, r := range all {
		if _, known := piece[r.Piece]; !known {
			piece[r.Piece] = len(piece)
		}
	}
	slices.SortStableFunc(rows, func(a, b []Record) int { return cmp.Compare(piece[a[0].Piece], piece[b[0].Piece]) })
	return rows
}

func valuesOf(rounds []Record, name string) (all []float64) {
	for _, r := range rounds {
		if v, ok := r.Values[name]; ok {
			all = append(all, v)
		}
	}
	return all
}

// estimate writes a median with its interval; without one, it says of how many rounds it is.
func estimate(values []float64, show func(*float64) string) string {
	if len(values) == 0 {
		return words.Absent
	}
	m := measure.Median(values)
	low, high, ok := interval(values)
	if !ok {
		return fmt.Sprintf("%s (n=%d)", show(&m), len(values))
	}
	return fmt.Sprintf("%s (%s–%s)", show(&m), show(&low), show(&high))
}

// throughput is the number that is compared with that of the base.
const throughput = "acquired_per_s"

// ratios returns the throughput of a cell over that of its base, of each round in which both are shown. The base has no
// ratio to itself.
func (f *Figure) ratios(rounds []Record, rows [][]Record) (all []float64) {
	last := f.Keys[len(f.Keys)-1]
	isBase := func(r *Record) bool { return strings.HasSuffix(r.Cell[last], f.Base) }
	if isBase(&rounds[0]) {
		return nil
	}
	for i := range rounds {
		for _, other := range rows {
			for k := range other {
				b := &other[k]
				perS, known := rounds[i].Values[throughput]
				if known && isBase(b) && b.Piece == rounds[i].Piece && b.Round == rounds[i].Round && b.Values[throughput] > 0 {
					all = append(all, perS/b.Values[throughput])
				}
			}
		}
	}
	return all
}

// conditions says under which conditions the rounds were measured, and what is not shown.
func (f *Figure) conditions(all []Record, under Conditions) string {
	var others []float64
	disturbed, failed, cold, tested, revisions := 0, 0, 0, 0, []string{}
	for i := range all {
		r := &all[i]
		switch {
		case r.Failed != "":
			failed++
		case r.Disturbed():
			disturbed++
		default:
			others = append(others, *r.Others)
			if r.Steady != nil {
				tested++
			}
			if r.Steady != nil && !*r.Steady {
				cold++
			}
		}
		if !slices.Contains(revisions, r.Locklab) {
			revisions = append(revisions, r.Locklab)
		}
	}
	text := fmt.Sprintf("Medians over rounds, in brackets the interval of %.0f %% (bootstrap over rounds). ZooKeeper %s, "+
		"`jvm: %s`, lab %s, %s that servers and clients share", 100*confidence, under.ZooKeeper, under.JVM, under.Lab,
		words.Count(int64(under.Processors), "processor"))
	if under.Machine != "" {
		text += " (" + under.Machine + ")"
	}
	text += "; locklab " + strings.Join(revisions, ", ") + "."
	if len(others) > 0 {
		most := slices.Max(others)
		text += fmt.Sprintf(" Other processes used at most %s of the processors.", words.Digits3(most))
	}
	switch {
	case cold > 0:
		text += fmt.Sprintf(" Before %s of a cell, the servers did not become steady.", words.Count(int64(cold), "round"))
	case tested > 0:
		text += " The servers were warmed up until their throughput no longer rose."
	}
	if n := disturbed; n > 0 {
		text += fmt.Sprintf(" Not shown: %s of a cell in which others used more than a tenth of the processors.",
			words.Count(int64(n), "round"))
	}
	if failed > 0 {
		text += fmt.Sprintf(" Not shown: %s of a cell that failed.", words.Count(int64(failed), "round"))
	}
	return text
}
