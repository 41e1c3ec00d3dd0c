package sweep

import (
	_ "embed"
	"fmt"
	"html/template"
	"slices"

	"locklab/reports/chart"
	"locklab/reports/doc"
)

//go:embed sweep.html.tmpl
var pageText string

var page = template.Must(template.New("sweep").Parse(pageText + doc.Template))

// Render draws a sweep's pictures into dir/plots and writes dir/report.html, one file that needs nothing but itself.
func Render(dir string, s Sweep) error {
	pictures, err := chart.Render(s.figures())
	if err != nil {
		return fmt.Errorf("render sweep: %w", err)
	}
	all := slices.Clone(pictures)
	for _, name := range []string{"predicted", "scalability"} { // of earlier versions; saving them undrawn removes them
		all = append(all, chart.Picture{Name: name})
	}
	if err := chart.WriteReport(dir, all, page, s.view(pictures)); err != nil {
		return fmt.Errorf("render sweep: %w", err)
	}
	return nil
}

// view is what the page shows.
func (s *Sweep) view(pictures []chart.Picture) map[string]any {
	return map[string]any{"Sweep": s, "Style": chart.PageStyle, "Pictures": pictures, "Points": s.table(),
		"Failovers": s.failoverTable(), "FailoverNotes": s.failoverNotes(), "Resources": s.resources(),
		"Windows": s.windowTable(), "Drops": s.drops(), "Search": s.searchMethod(),
		"Headlines": s.Headlines(), "Advice": s.Advice()}
}
