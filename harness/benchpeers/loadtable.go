package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"locklab/reports/compare"
	"locklab/reports/measure"
	"locklab/reports/words"
)

// name says what is special about the shape of a cell.
func (c *LoadCell) name() string {
	choice := uniform
	if c.Shape.Dealt {
		choice = dealt
	}
	if c.Share > 0 {
		return fmt.Sprintf("%s, %s, %s of the limit: %.0f/s", c.Shape.Recipe, choice, words.Digits3(c.Share), c.Shape.Rate)
	}
	return fmt.Sprintf("%s, %s, closed loop", c.Shape.Recipe, choice)
}

// A goal is what locklab's load should keep to, as a ratio to the thin one's.
type goal struct {
	what string
	of   func(*LoadSample) *float64
	// open and closed say in which loops it is a goal. bound is the worst ratio; 0 = none.
	open, closed bool
	bound        float64
	atLeast      bool
}

var loadGoals = []goal{
	{"acquired/s", func(s *LoadSample) *float64 { return &s.PerS }, false, true, 0.9, true},
	{"p50", func(s *LoadSample) *float64 { return float(s.P50) }, true, true, 0, false},
	{"p99", func(s *LoadSample) *float64 { return float(s.P99) }, true, false, 1.2, false},
	{"hold p50", func(s *LoadSample) *float64 { return float(s.HoldP50) }, true, true, 0, false},
	{"load side per acquisition", func(s *LoadSample) *float64 { return s.Load }, true, true, 1.5, false},
	{"servers per acquisition", func(s *LoadSample) *float64 { return s.Servers }, true, true, 0, false},
}

func float(v *int64) *float64 {
	if v == nil {
		return nil
	}
	return new(float64(*v))
}

// print writes the ratios of each cell: locklab over thin.
func (c *LoadComparison) print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "load\twhat\tthin\tlocklab\tlocklab/thin (95 %)\tgoal")
	for i := range c.Cells {
		cell := &c.Cells[i]
		for _, g := range loadGoals {
			if open := cell.Share > 0; open && !g.open || !open && !g.closed {
				continue
			}
			fmt.Fprintf(t, "%s\t%s\t%s\n", cell.name(), g.what, cell.row(&g))
		}
		fmt.Fprintf(t, "%s\tlost\t%s\t%s\n", cell.name(), lostOf(cell.Thin), lostOf(cell.Locklab))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, l := range c.Limits {
		fmt.Fprintf(w, "\n%s: p99 of the thin load crosses %s at %.0f/s (median of %d)", l.Recipe,
			time.Duration(c.BoundNs), measure.Median(l.Thin), len(l.Thin))
		if len(l.Undisturbed) > 0 {
			alone := measure.Median(l.Undisturbed)
			fmt.Fprintf(w, "; without a disturbance, sweep --saturate found %.0f/s (median of %d), %.2f times that; goal: 0.90 "+
				"to 1.10", alone, len(l.Undisturbed), alone/measure.Median(l.Thin))
		}
		if len(l.Saturate) > 0 {
			fmt.Fprintf(w, "; its answer, at which the bound also holds again after one, is %.0f/s (%d of %d searches)",
				measure.Median(l.Saturate), len(l.Saturate), l.Searches)
		}
		if l.AtLeast > 0 {
			fmt.Fprintf(w, "; in %d of %d searches the load side was the limit, and they are not counted", l.AtLeast,
				l.Searches)
		}
	}
	_, err := fmt.Fprintf(w, "\n\nWindows of %s after %s; %s\n", time.Duration(c.WindowNs), time.Duration(c.WarmupNs),
		c.ZooKeeper)
	return err
}

// row has the medians of both loads, their ratio with its interval, and whether that keeps to the goal. A round in
// which one of them has no value, because it was lost, has no ratio, and so the goal is missed.
func (c *LoadCell) row(g *goal) string {
	var thin, own []float64
	for i := range c.Thin {
		if a, b := g.of(&c.Thin[i]), g.of(&c.Locklab[i]); a != nil && b != nil && *a > 0 && *b > 0 {
			thin, own = append(thin, *a), append(own, *b)
		}
	}
	if len(thin) == 0 {
		return "n/a\tn/a\tn/a\t"
	}
	show := func(v float64) string {
		if g.what == "acquired/s" {
			return fmt.Sprintf("%.0f", v)
		}
		return words.Duration(int64(v))
	}
	i, ok := compare.PairedRatio(thin, own)
	ratio := fmt.Sprintf("%.2f", i.Estimate)
	if ok {
		ratio += fmt.Sprintf(" (%.2f…%.2f)", i.Low, i.High)
	}
	all := len(thin) == len(c.Thin)
	if !all {
		ratio += fmt.Sprintf(", in %d of %d rounds", len(thin), len(c.Thin))
	}
	verdict := ""
	if g.bound > 0 {
		met := all && (g.atLeast && i.Estimate >= g.bound || !g.atLeast && i.Estimate <= g.bound)
		verdict = fmt.Sprintf("%s %.2f: %s", map[bool]string{true: "≥", false: "≤"}[g.atLeast], g.bound,
			map[bool]string{true: "met", false: "missed"}[met])
	}
	return fmt.Sprintf("%s\t%s\t%s\t%s", show(measure.Median(thin)), show(measure.Median(own)), ratio, verdict)
}

// lostOf says which share of what was due was lost.
func lostOf(all []LoadSample) string {
	lost, due := 0, 0
	for _, s := range all {
		lost, due = lost+s.Lost, due+s.Due
	}
	return fmt.Sprintf("%d of %d", lost, due)
}
