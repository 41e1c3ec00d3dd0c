package danger

import (
	_ "embed"
	"fmt"
	"html/template"

	"locklab/reports/chart"
	"locklab/reports/words"
)

//go:embed danger.html.tmpl
var pageText string

var page = template.Must(template.New("danger").Funcs(template.FuncMap{"duration": words.Duration}).Parse(pageText))

// A pagePanel is a panel's tables on the page.
type pagePanel struct {
	Title           string
	Outcomes, Costs [][]string // the head first
	LeftOut         map[string]int
}

// Render draws the pictures into dir/plots and writes dir/report.html, one file that needs nothing but itself.
func Render(dir string, d *Danger) error {
	pictures, err := chart.Render(d.figures())
	if err != nil {
		return fmt.Errorf("render danger: %w", err)
	}
	var panels []pagePanel
	for i := range d.Panels {
		p := &d.Panels[i]
		panels = append(panels, pagePanel{p.Title, p.rows(), p.costRows(), p.leftOut()})
	}
	err = chart.WriteReport(dir, pictures, page, map[string]any{"Danger": d, "Style": chart.PageStyle,
		"Pictures": pictures, "Panels": panels})
	if err != nil {
		return fmt.Errorf("render danger: %w", err)
	}
	return nil
}
