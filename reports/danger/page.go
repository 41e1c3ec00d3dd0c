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
	*Panel
	Outcomes, Costs table
	LeftOut         map[string]int
}

// A table is a table of the page. The first cell of a row names it.
type table struct {
	Caption string
	Head    []string
	Rows    [][]string
}

// newTable is a table of rows whose first is the head.
func newTable(caption string, rows [][]string) table { return table{caption, rows[0], rows[1:]} }

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
		panels = append(panels, pagePanel{p,
			newTable("The share of trials with each outcome, with its 95 % interval (Wilson).", p.rows()),
			newTable("Medians over the runs. n/a: not measured.", p.costRows()), p.leftOut()})
	}
	answer := d.title()
	if answer == question {
		answer = ""
	}
	return map[string]any{"Danger": d, "Question": question, "Answer": answer, "Style": chart.PageStyle,
		"Pictures": pictures, "Panels": panels}
}
