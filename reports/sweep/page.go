package sweep

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"

	"locklab/harness/rundir"
	"locklab/reports/chart"
)

//go:embed sweep.html.tmpl
var pageText string

var page = template.Must(template.New("sweep").Parse(pageText))

// Render draws a sweep's pictures into dir/plots and writes dir/report.html, one file that needs nothing but itself.
func Render(dir string, s Sweep) error {
	drawn := []chart.Picture{{Name: "predicted"}} // an earlier version drew it; saving it undrawn removes it
	var shown []chart.Picture
	for _, f := range s.figures() {
		p, err := f.Render()
		if err != nil {
			return fmt.Errorf("render sweep: %w", err)
		}
		drawn, shown = append(drawn, p), append(shown, p)
	}
	head, rows := s.table()
	var html bytes.Buffer
	err := page.Execute(&html, map[string]any{"Sweep": s, "Style": chart.PageStyle, "Pictures": shown,
		"Head": head, "Rows": rows, "Headlines": s.Headlines(), "Causes": s.causes(), "Models": s.models()})
	if err == nil {
		err = chart.Save(dir, drawn)
	}
	if err == nil {
		err = rundir.WriteReport(dir, html.Bytes())
	}
	if err != nil {
		return fmt.Errorf("render sweep: %w", err)
	}
	return nil
}
