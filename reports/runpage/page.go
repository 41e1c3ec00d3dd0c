package runpage

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"slices"

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
	window := measure.MeasuredWindow(in.Events)
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
		methodSection(in, window),
		environmentSection(in),
		reproduceSection(in),
		glossarySection(&in.Result),
	}
	return v
}

// Explain returns a text of the first screen, in which terms that occur for the first time have a title.
func (v pageView) Explain(text string) template.HTML { return v.terms.mark(text) }
