package advice

import (
	_ "embed"
	"fmt"
	"io"
	"math"
	"regexp"
	"strings"
	"text/tabwriter"
	"time"

	"locklab/reports/doc"
	"locklab/reports/words"
	"locklab/workloads/guard"
)

// Print writes the advice for a terminal: the recommendation, the table, each guard's timeout, how all of it was
// computed, and warnings.
func Print(w io.Writer, a *Advice) error {
	fmt.Fprintln(w, a.Headline()+"\n")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range a.table() {
		fmt.Fprintln(t, strings.Join(row, "\t")+"\t")
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	for _, g := range guard.All {
		if c, ok := a.Choices[g.Name]; ok {
			verb := "choose"
			if a.Undecided != "" {
				verb = "least cost, as far as this input tells:"
			}
			fmt.Fprintf(w, "with %-12s  %s %s\n", g.Name, verb, c)
		}
	}
	fmt.Fprintln(w)
	for _, line := range a.Method {
		fmt.Fprintln(w, "computed: "+line)
	}
	for _, line := range a.Warnings {
		fmt.Fprintln(w, "warning: "+line)
	}
	return nil
}

// String writes the choice with the range that the intervals leave.
func (c Choice) String() string {
	s := words.Duration(c.TimeoutNs)
	if c.LowNs != c.TimeoutNs || c.HighNs != c.TimeoutNs {
		s += fmt.Sprintf(" (%s if all rates are at the lower ends of their intervals, %s at the upper ends)",
			words.Duration(c.LowNs), words.Duration(c.HighNs))
	}
	return s
}

// Headline says which timeout to choose, and what it brings.
func (a *Advice) Headline() string {
	o := a.chosen(a.Guard)
	if a.Undecided != "" {
		return a.cannotSay(o)
	}
	s := fmt.Sprintf("Choose a session timeout of %s with guard %s: %s.\n", words.Duration(o.TimeoutNs), a.Guard, a.why(o))
	if o.FalseExpiries.Unseen {
		s += "No pause of the input could end such a session. All that the input shows (95 %) is that there are at most " +
			fmt.Sprintf("%s false expiries and %s double holds a year.\n", yearly(o.FalseExpiries.High),
				yearly(o.DoubleHolds[a.Guard].High))
	} else {
		s += fmt.Sprintf("Expect %s false expiries and %s double holds a year.\n", o.FalseExpiries, o.DoubleHolds[a.Guard])
	}
	return s + fmt.Sprintf("After a crash of its holder, nobody gets the lock for %s on average.",
		words.Duration(o.WithoutProgress.MeanNs))
}

// cannotSay is the headline of an input that cannot carry a choice: what it says, and how much would be enough.
func (a *Advice) cannotSay(o *Option) string {
	days := math.Ceil(time.Duration(a.NeededNs).Hours() / 24)
	return fmt.Sprintf("No timeout is recommended with guard %s, because the input cannot carry a choice: %s.\n"+
		"It says this: the longest of %s in %s was %s, so a session timeout of %s brings %s false expiries a year.\n"+
		"About %s of logs would be enough, of one process or of several together.",
		a.Guard, a.Undecided, a.Pauses.Counted(), words.Duration(a.Pauses.SpanNs), words.Duration(a.Pauses.LongestNs),
		words.Duration(o.TimeoutNs), o.FalseExpiries, words.Count(int64(days), "day"))
}

// String writes the rate and its interval.
func (r Rate) String() string {
	if r.Unseen || r == (Rate{}) {
		return r.short()
	}
	return fmt.Sprintf("%s (%s–%s)", r.short(), yearly(r.Low), yearly(r.High))
}

// short writes the rate without its interval.
func (r Rate) short() string {
	switch {
	case r.Unseen:
		return "≤ " + yearly(r.High)
	}
	return yearly(r.AYear)
}

// yearly writes a number of events a year with two digits.
func yearly(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v < 0.001:
		return "<0.001"
	case v < 1e15 && v >= 100:
		unit := math.Pow(10, math.Floor(math.Log10(v))-1)
		return words.Grouped(int64(math.Round(v/unit) * unit))
	}
	return fmt.Sprintf("%.2g", v)
}

// table is the options as text, with a head.
func (a *Advice) table() [][]string {
	var columns [][]string // the names of guards that let the same through are in one column
	for _, g := range guard.All {
		if n := len(columns); n > 0 && g.RefusesStale() && isSafe(columns[n-1][0]) {
			columns[n-1] = append(columns[n-1], g.Name)
			continue
		}
		columns = append(columns, []string{g.Name})
	}
	above := []string{"session", "long", "false expiries", "double holds"}
	head := []string{"timeout", "pauses", "a year"}
	for i, names := range columns {
		head = append(head, strings.Join(names, ", "))
		if i > 0 {
			above = append(above, "")
		}
	}
	above, head = append(above, "without progress", "cost"), append(head, "after a crash", "a year")
	rows := [][]string{above, head}
	for i := range a.Options {
		o := &a.Options[i]
		timeout := words.Duration(o.TimeoutNs)
		if o.TimeoutNs == a.Choices[a.Guard].TimeoutNs {
			timeout = "→ " + timeout
		}
		row := []string{timeout, words.Grouped(int64(math.Round(o.LongPauses))), o.FalseExpiries.String()}
		for _, names := range columns {
			text := words.Absent
			if r, ok := o.DoubleHolds[names[0]]; ok {
				text = r.short()
				if names[0] == a.Guard {
					text = r.String()
				}
			}
			row = append(row, text)
		}
		cost := words.Absent
		if v, ok := o.CostSAYear[a.Guard]; ok {
			cost = costText(v)
			if o.FalseExpiries.Unseen {
				cost = "≥ " + cost
			}
		}
		rows = append(rows, append(row, o.WithoutProgress.String(), cost))
	}
	return rows
}

func isSafe(name string) bool {
	g, _ := guard.Find(name)
	return g.RefusesStale()
}

// String writes the mean and the limits, in seconds.
func (s Spread) String() string {
	seconds := func(ns int64) string { return words.Digits3(time.Duration(ns).Seconds()) }
	return fmt.Sprintf("%s s (%s–%s)", seconds(s.MeanNs), seconds(s.LeastNs), seconds(s.MostNs))
}

// costText writes seconds a year.
func costText(s float64) string {
	if s < 120*3600 {
		return words.Duration(int64(s * float64(time.Second)))
	}
	return yearly(s/3600) + " h"
}

// method says how the numbers were computed, and what they rest on.
func (a *Advice) method() []string {
	return texts.Lines("method", struct {
		*Advice
		Config Config
	}{a, a.cfg})
}

//go:embed texts.tmpl
var textsText string

var texts = doc.NewProse(textsText, map[string]any{
	"span": spanText, "duration": words.Duration, "digits": words.Digits3,
	"clients": func(n int) string { return words.Count(int64(n), "client") },
	"share":   words.Share})

// Counted says how many pauses there are, and what they are.
func (in Input) Counted() string {
	text := words.Grouped(int64(math.Round(in.Count))) + " " + in.What
	if in.Count == 1 {
		text = singular.ReplaceAllString(text, "$1$2")
	}
	return text
}

// singular finds the noun in what a single pause is.
var singular = regexp.MustCompile(`^(1 \w+)s\b(.*)$`)

func spanText(d time.Duration) string { return words.Duration(int64(d)) }
