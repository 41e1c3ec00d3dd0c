package sweep

import (
	_ "embed"
	"fmt"
	"html/template"
	"slices"

	"locklab/reports/chart"
)

//go:embed sweep.html.tmpl
var pageText string

var page = template.Must(template.New("sweep").Parse(pageText))

// Render draws a sweep's pictures into dir/plots and writes dir/report.html, one file that needs nothing but itself.
func Render(dir string, s Sweep) error {
	pictures, err := chart.Render(s.figures())
	if err != nil {
		return fmt.Errorf("render sweep: %w", err)
	}
	earlier := chart.Picture{Name: "predicted"} // an earlier version drew it; saving it undrawn removes it
	if err := chart.WriteReport(dir, append(slices.Clone(pictures), earlier), page, s.view(pictures)); err != nil {
		return fmt.Errorf("render sweep: %w", err)
	}
	return nil
}

// view is what the page shows.
func (s *Sweep) view(pictures []chart.Picture) map[string]any {
	head, rows := s.table()
	windowHead, windows := s.windowTable()
	failoverHead, failovers := s.failoverTable()
	return map[string]any{"Sweep": s, "Style": chart.PageStyle, "Pictures": pictures, "Head": head, "Rows": rows,
		"FailoverHead": failoverHead, "Failovers": failovers, "FailoverNotes": s.failoverNotes(), "Resources": s.resources(),
		"WindowHead": windowHead, "Windows": windows, "Drops": s.drops(), "Search": s.searchMethod(),
		"Headlines": s.Headlines(), "Causes": s.causes(), "Models": s.models()}
}
