package runpage

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"slices"

	"locklab/harness/check/spans"
	"locklab/harness/history"
	"locklab/reports/chart"
	"locklab/reports/doc"
	"locklab/reports/measure"
	"locklab/reports/result"
	"locklab/reports/timeline"
)

var (
	//go:embed report.html.tmpl
	pageText string
	//go:embed report.js
	script string
	//go:embed report.css
	style string
)

var page = template.Must(template.New("report").Parse(pageText + doc.Template))

// policy is the page's content security policy: nothing is fetched, and no script runs but the page's own.
var policy = func() string {
	sum := sha256.Sum256([]byte(script))
	return "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-" +
		base64.StdEncoding.EncodeToString(sum[:]) + "'"
}()

type pageView struct {
	result.Input
	Style    template.CSS
	Script   template.JS
	Policy   string
	Patterns template.HTML
	Partial  string
	Heading  string
	Class    result.Outcome
	Measured string         // what was measured, in a sentence
	terms    explainer      // of the texts of the first screen
	Timeline *chart.Picture // nil if there is none
	Absent   string         // why there is no timeline
	Numbers  []keyNumber
	Sections []section
	Empty    bool
}

// A keyNumber is a quantity of the run as the page shows it.
type keyNumber struct{ Name, Label, Value, Means string }

// numbers returns the quantities that have a label, in the order of the catalogue.
func numbers(r *result.Result, label func(result.Quantity) string) []keyNumber {
	var all []keyNumber
	for _, q := range result.Quantities() {
		if text := label(q); text != "" {
			all = append(all, keyNumber{q.Name(), text, q.Show(q.Value(r)), q.Means})
		}
	}
	return all
}

// firstNumbers chooses the three numbers of the first screen: of the damage if there was any, else of the speed.
func firstNumbers(r *result.Result, all []keyNumber) (three []keyNumber) {
	names := []string{"acquired_per_s", "acquire.p50", "acquire.p99"}
	if o := r.Safety.Overlaps; o != nil && *o > 0 {
		names = []string{"max_overlap", "stale_accepted", "lost_updates"}
		if n := r.Safety.StaleRejected; n != nil && *n > 0 {
			names[2] = "stale_rejected"
		}
	}
	for _, name := range names {
		if i := slices.IndexFunc(all, func(n keyNumber) bool { return n.Name == name }); i >= 0 {
			three = append(three, all[i])
		}
	}
	return three
}

// A drawing has the pictures of a page, by their names, and what its timelines and pictures of clients show.
type drawing struct {
	all       []chart.Picture
	timelines timeline.Timelines
	shares    []clientShare
}

func (d *drawing) picture(name string) chart.Picture {
	if i := slices.IndexFunc(d.all, func(p chart.Picture) bool { return p.Name == name }); i >= 0 {
		return d.all[i]
	}
	return chart.Picture{Name: name}
}

// parts returns the timelines below the first screen.
func (d *drawing) parts() (parts []part) {
	for _, t := range d.timelines.All[min(len(d.timelines.All), 1):] {
		p := d.picture(t.File)
		parts = append(parts, part{Picture: &p})
	}
	return parts
}

// newPageView returns what report.html shows.
func newPageView(in result.Input, drawn drawing) pageView {
	all := numbers(&in.Result, func(q result.Quantity) string { return q.Tile })
	v := pageView{Input: in, Style: chart.PageStyle + template.CSS(style), Script: template.JS(script), Policy: policy,
		Patterns: chart.PagePatterns, Partial: partialNote(in), Empty: in.Result.Operations.AcquiredInRun == 0,
		Heading: in.Result.Heading(), Class: in.Result.OutcomeClass(), Measured: measured(in),
		terms: explainer{map[string]bool{}}, Numbers: firstNumbers(&in.Result, all)}
	if p := drawn.picture(timeline.Name); p.Element != "" {
		v.Timeline = &p
	} else {
		v.Absent = p.Absent
	}
	v.Sections = []section{
		adviceSection(in),
		checksSection(in),
		findingsSection(in, drawn.timelines.All),
		faultsSection(in, drawn.parts(), drawn.timelines.Left),
		holdsSection(drawn.timelines.All),
		latencySection(in, drawn.picture("latency-percentiles"), drawn.picture("latency-over-time")),
		throughputSection(in, drawn.picture("throughput")),
		fairnessSection(in, drawn.shares, drawn.picture("grants"), drawn.picture("waits"), drawn.picture("bypasses")),
		serversSection(in),
		hiccupsSection(in),
		thresholdsSection(in),
		warningsSection(in),
		keySection(all),
		methodSection(in),
		environmentSection(in),
		reproduceSection(in),
		glossarySection(&in.Result),
	}
	return v
}

// Explain returns a text of the first screen, in which terms that occur for the first time have a title.
func (v pageView) Explain(text string) template.HTML { return v.terms.mark(text) }

// Render draws the run's pictures into dir/plots and writes dir/report.html, one file that needs nothing but itself.
// Each file is replaced completely or not at all. A picture that has nothing to show is left out, and its older file
// is removed.
func Render(dir string, in result.Input) error {
	figures, d := figuresOf(in)
	var err error
	if d.all, err = chart.Render(figures); err == nil {
		err = chart.WriteReport(dir, d.all, page, newPageView(in, d))
	}
	if err != nil {
		return fmt.Errorf("render report: %w", err)
	}
	return nil
}

// figuresOf returns all figures of a run, and a drawing that has what they show but no pictures yet.
func figuresOf(in result.Input) ([]chart.Figure, drawing) {
	faults := measure.FaultSpans(in.Events)
	d := drawing{timelines: timeline.New(in, faults), shares: clientShares(in)}
	figures := append(d.timelines.Figures(), percentilesFigure(in), overTimeFigure(in, faults),
		throughputFigure(in, faults))
	return append(figures, clientFigures(d.shares)...), d
}

// lastSeconds is how much of a run that lasts is drawn in detail, in ns.
const lastSeconds = 2e9

// Live draws a run that lasts, as far as it has been recorded: the whole of it, and its last two seconds on the lock
// that was asked for last. It returns nothing before a client has asked for a lock.
func Live(in result.Input) (all []chart.Picture) {
	if len(in.Acquisitions) == 0 {
		return nil
	}
	end, faults := in.Window.End, measure.FaultSpans(in.Events)
	whole := timeline.NewOverview(in, faults, nil)
	whole.File = timeline.OverviewName
	if _, ended := in.Events.First(history.OpEnd); !ended {
		whole.Title = "The run so far: who held, faults, and gaps without progress"
	}
	last := slices.MaxFunc(in.Acquisitions, func(a, b history.Acquisition) int {
		return cmp.Compare(a.Invoked, b.Invoked)
	})
	s := timeline.Scene{Span: spans.Span{From: max(0, end-lastSeconds), Until: max(end, 1)}, Lock: last.Lock,
		Title: "The last two seconds of " + last.Lock}
	latest := timeline.Of(in, faults, []timeline.Scene{s})[0]
	latest.File = "latest"
	return []chart.Picture{whole.Figure().Inline(), latest.Figure().Inline()}
}
