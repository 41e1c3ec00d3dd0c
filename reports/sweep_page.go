package reports

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"locklab/harness/check"
)

//go:embed sweep.html.tmpl
var sweepPageText string

var sweepPage = template.Must(template.New("sweep").Parse(sweepPageText))

// pageStyle is the style of a run's page.
func pageStyle() template.CSS {
	_, rest, _ := strings.Cut(pageText, "<style>")
	style, _, _ := strings.Cut(rest, "</style>")
	return template.CSS(style)
}

// RenderSweep draws a sweep's pictures into dir/plots and writes dir/report.html, as [Render]
// does for a run.
func RenderSweep(dir string, s Sweep) error {
	plots := filepath.Join(dir, "plots")
	if err := os.MkdirAll(plots, 0o755); err != nil {
		return fmt.Errorf("render sweep: %w", err)
	}
	var drawn []pagePicture
	for _, f := range s.figures() {
		p, err := f.render()
		if err != nil {
			return fmt.Errorf("render sweep: %w", err)
		}
		for ext, b := range map[string][]byte{".png": p.PNG, ".svg": p.SVG} {
			if err := replace(filepath.Join(plots, p.Name+ext), b); err != nil {
				return fmt.Errorf("render sweep: %w", err)
			}
		}
		drawn = append(drawn, pagePicture{p.Name, p.Caption, dataURL(p.PNG)})
	}
	head, rows := s.table()
	var page bytes.Buffer
	err := sweepPage.Execute(&page, map[string]any{"Sweep": s, "Style": pageStyle(), "Pictures": drawn, "Head": head, "Rows": rows,
		"Headlines": s.Headlines(), "Causes": s.causes(), "Models": s.models()})
	if err != nil {
		return fmt.Errorf("render sweep: %w", err)
	}
	return replace(filepath.Join(dir, "report.html"), page.Bytes())
}

// PrintSweep writes the table and what there is to say of it.
func PrintSweep(w io.Writer, s Sweep) error {
	for _, line := range s.Headlines() {
		fmt.Fprintln(w, line)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	head, rows := s.table()
	fmt.Fprintln(t, "\n"+strings.Join(head, "\t")+"\t")
	for _, row := range rows {
		fmt.Fprintln(t, strings.Join(row, "\t")+"\t")
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for i, list := range [][]string{s.models(), s.causes(), s.Warnings} {
		for _, line := range list {
			fmt.Fprintln(w, []string{"model: ", "gap: ", "warning: "}[i]+line)
		}
	}
	return nil
}

// table is the sweep's points as text: those of a series follow one another.
func (s *Sweep) table() (head []string, rows [][]string) {
	for _, p := range s.Params {
		head = append(head, p.Key)
	}
	if s.Saturate != "" {
		head = append(head, "last pass /s", "first fail /s", "why", "probes")
	} else {
		head = append(head, "runs", "acquired/s", "min…max", "predicted", "gap", "acquire p50", "p99", "hand-off", "hold", "busy", "verdict")
	}
	for i := range s.Series {
		for k := range s.Series[i].Points {
			rows = append(rows, s.row(&s.Series[i].Points[k]))
		}
	}
	return head, rows
}

func (s *Sweep) row(p *SweepPoint) []string {
	var row []string
	for _, param := range s.Params {
		row = append(row, or(p.Values[param.Key], "–"))
	}
	number := func(v *float64) string {
		if v == nil {
			return absent
		}
		return digits3(*v)
	}
	time := func(ns *int64) string {
		if ns == nil {
			return absent
		}
		return duration(*ns)
	}
	if l := p.Limit; s.Saturate != "" {
		if l == nil {
			return append(row, absent, absent, p.Why, "0")
		}
		return append(row, number(l.LastPass), number(l.FirstFail), or(l.Unknown, string(l.Why)), strconv.Itoa(len(l.Probes)))
	}
	ranged, predicted, gap, busy := "", absent, "", ""
	if p.Runs > 1 {
		ranged = number(p.AcquiredPerSMin) + "…" + number(p.AcquiredPerSMax)
	}
	if p.Predicted != nil {
		predicted = digits3(p.Predicted.AcquiredPerS)
	}
	if p.Gap != nil {
		gap = fmt.Sprintf("%+.0f %%", 100**p.Gap)
	}
	if p.Utilization != nil {
		busy = fmt.Sprintf("%.0f %%", 100**p.Utilization)
	}
	return append(row, strconv.Itoa(p.Runs), number(p.AcquiredPerS), ranged, predicted, gap, time(p.AcquireP50Ns), time(p.AcquireP99Ns), time(p.HandoffMeanNs), time(p.HoldMeanNs), busy, string(p.Verdict))
}

// Headlines says in a sentence a series what the sweep came to.
func (s *Sweep) Headlines() []string {
	var all []string
	for i := range s.Series {
		series := &s.Series[i]
		name := series.Name
		if name != "" {
			name += ": "
		}
		if s.Saturate != "" {
			for k := range series.Points {
				all = append(all, s.limitHeadline(series, &series.Points[k]))
			}
			continue
		}
		var best *SweepPoint
		for k := range series.Points {
			if p := &series.Points[k]; p.AcquiredPerS != nil && (best == nil || *p.AcquiredPerS > *best.AcquiredPerS) {
				best = p
			}
		}
		if best == nil {
			all = append(all, name+"nothing was measured.")
			continue
		}
		text := fmt.Sprintf("%sat most %s acquisitions a second were measured", name, digits3(*best.AcquiredPerS))
		if s.Load != "" {
			text += fmt.Sprintf(", at %s %s", s.Load, s.label(best.Load))
		}
		if m := series.Model; m != nil && m.KneeClients != nil && s.Load == "clients" {
			text += fmt.Sprintf("; from %s clients on more of them only wait longer", digits3(*m.KneeClients))
		}
		all = append(all, text+".")
	}
	bad := 0
	for i := range s.Series {
		bad += len(slices.DeleteFunc(slices.Clone(s.Series[i].Points), func(p SweepPoint) bool { return p.Verdict == check.Pass }))
	}
	if bad > 0 && s.Saturate == "" {
		all = append(all, fmt.Sprintf("%d of the points did not pass: see the table.", bad))
	}
	return all
}

func (s *Sweep) limitHeadline(series *SweepSeries, p *SweepPoint) string {
	name := s.pointName(series, p) + ": "
	l := p.Limit
	switch {
	case l == nil:
		return name + "not searched."
	case l.Unknown != "":
		return name + "no answer: " + l.Unknown + "."
	case l.LastPass == nil:
		return fmt.Sprintf("%sno rate holds; %s a second is too much: %s.", name, digits3(*l.FirstFail), l.Detail)
	case l.FirstFail == nil:
		return fmt.Sprintf("%s%s a second hold, the highest that was tried.", name, digits3(*l.LastPass))
	}
	return fmt.Sprintf("%s%s a second hold; %s are too many (%s: %s).", name, digits3(*l.LastPass), digits3(*l.FirstFail), l.Why, l.Detail)
}

// causes names the points at which the model is off by too much.
func (s *Sweep) causes() []string {
	var all []string
	for i := range s.Series {
		for k := range s.Series[i].Points {
			if p := &s.Series[i].Points[k]; p.Cause != "" {
				all = append(all, fmt.Sprintf("%s (%+.0f %%): %s", s.pointName(&s.Series[i], p), 100**p.Gap, p.Cause))
			}
		}
	}
	return all
}

// models says what each series' model goes by.
func (s *Sweep) models() []string {
	var all []string
	for i := range s.Series {
		series := &s.Series[i]
		name := or(series.Name, s.Scenario)
		if m := series.Model; m != nil {
			text := fmt.Sprintf("%s: hold %s + hand-off %s = %s; at most %s a second", name, duration(m.HoldNs), duration(m.HandoffNs), duration(m.ServiceNs), digits3(*m.MostPerS))
			if m.ReaderNs > 0 {
				text += fmt.Sprintf(", a round of readers %s longer for each but the first", duration(m.ReaderNs))
			}
			if m.KneeClients != nil {
				text += ", knee at " + digits3(*m.KneeClients) + " clients"
			}
			all = append(all, text+" ("+m.From+")")
		}
		if u := series.USL; u != nil {
			text := fmt.Sprintf("%s: scalability law λ %s, σ %s, κ %s, R² %s", name, digits3(u.Lambda), digits3(u.Sigma), digits3(u.Kappa), u.r2())
			if u.PeakLocks != nil {
				text += fmt.Sprintf(", highest at %s locks", digits3(*u.PeakLocks))
			}
			if u.Note != "" {
				text += " (" + u.Note + ")"
			}
			all = append(all, text)
		}
	}
	return all
}
