package danger

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"locklab/reports/doc"
	"locklab/reports/words"
)

// Print writes the headlines, what the guards are, and the tables for a terminal.
func Print(w io.Writer, d *Danger) error {
	for _, line := range d.Headlines() {
		fmt.Fprintln(w, line)
	}
	fmt.Fprintln(w)
	for _, line := range d.Guards() {
		fmt.Fprintln(w, line)
	}
	for i := range d.Panels {
		p := &d.Panels[i]
		fmt.Fprintf(w, "\n%s", p.Title)
		if err := errors.Join(p.outcomes().Text(w), p.costs().Text(w)); err != nil {
			return err
		}
	}
	return nil
}

// outcomes are those of a panel's points.
func (p *Panel) outcomes() *doc.Table {
	t := doc.NewTable("The share of trials with each outcome, with its 95 % interval (Wilson).", "guard or lock",
		"#"+p.Axis+" / timeout", "#two believe at once", "#outdated access accepted", "#update lost", "#trials", "#left out")
	for i := range p.Curves {
		c := &p.Curves[i]
		for k := range c.Points {
			at := &c.Points[k]
			out := 0
			for _, n := range at.LeftOut {
				out += n
			}
			t.Add(c.Name(), doseText(at.Dose), at.Believed.String(), at.Stale.String(), at.Lost.String(),
				strconv.Itoa(at.Trials()), strconv.Itoa(out))
		}
	}
	return t
}

// costs are what the guards of a panel cost.
func (p *Panel) costs() *doc.Table {
	t := doc.NewTable("Medians over the runs. n/a: not measured.", "guard or lock", "#acquire p50", "#hand-off p50",
		"#requests per acquisition", "#acquired/s", "#valid holds given up", "#trials", "#grants", "#runs")
	duration := func(v float64) string { return words.Duration(int64(v)) }
	for i := range p.Curves {
		c := &p.Curves[i]
		t.Add(c.Name(), words.Known(c.Costs.AcquireP50Ns, duration), words.Known(c.Costs.HandOffP50Ns, duration),
			words.Known(c.Costs.Requests, words.Digits3), words.Known(c.Costs.PerSecond, words.Digits3),
			c.Costs.GivenUp.String(), strconv.Itoa(c.Trials()), words.Grouped(c.Grants), strconv.Itoa(c.Runs))
	}
	return t
}

func doseText(dose float64) string { return strconv.FormatFloat(dose, 'f', -1, 64) }

// leftOut lists the reasons for which faults of a panel are no trials.
func (p *Panel) leftOut() map[string]int {
	all := map[string]int{}
	for i := range p.Curves {
		for k := range p.Curves[i].Points {
			for why, n := range p.Curves[i].Points[k].LeftOut {
				all[why] += n
			}
		}
	}
	return all
}
