package danger

import (
	_ "embed"
	"fmt"
	"html/template"

	"locklab/reports/chart"
	"locklab/reports/doc"
	"locklab/reports/words"
)

//go:embed danger.html.tmpl
var pageText string

var page = template.Must(template.New("danger").Funcs(template.FuncMap{"duration": words.Duration}).
	Parse(pageText + doc.Template))

// A pagePanel is a panel's tables on the page.
type pagePanel struct {
	*Panel
	Outcomes, Costs *doc.Table
	LeftOut         map[string]int
}

// Render draws the pictures into dir/plots and writes dir/report.html, one file that needs nothing but itself.
func Render(dir string, d *Danger) error {
	pictures, err := chart.Render(d.figures())
	if err != nil {
		return fmt.Errorf("render danger: %w", err)
	}
	if err := chart.WriteReport(dir, pictures, page, d.view(pictures)); err != nil {
		return fmt.Errorf("render danger: %w", err)
	}
	return nil
}

// view is what the page shows.
func (d *Danger) view(pictures []chart.Picture) map[string]any {
	var panels []pagePanel
	for i := range d.Panels {
		p := &d.Panels[i]
		panels = append(panels, pagePanel{p, p.outcomes(), p.costs(), p.leftOut()})
	}
	answer := d.title()
	if answer == question {
		answer = ""
	}
	advice, how := d.Advice()
	return map[string]any{"Danger": d, "Advice": advice, "How": how, "Question": question, "Answer": answer,
		"Style":    chart.PageStyle,
		"Pictures": pictures, "Panels": panels}
}
