package danger

import (
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"

	"locklab/reports/chart"
	"locklab/reports/doc"
	"locklab/reports/words"
	"locklab/workloads/guard"
)

//go:embed texts.tmpl
var textsText string

var texts = doc.NewProse(textsText, nil)

// Print writes the headlines, the warnings, what the guards are, and the tables for a terminal.
func Print(w io.Writer, d *Danger) error {
	for _, line := range d.Headlines() {
		fmt.Fprintln(w, line)
	}
	for _, line := range d.Warnings {
		fmt.Fprintln(w, "warning:", line)
	}
	fmt.Fprintln(w)
	for _, line := range d.Guards() {
		fmt.Fprintln(w, line)
	}
	for i := range d.Panels {
		p := &d.Panels[i]
		fmt.Fprintf(w, "\n%s", p.Title)
		if err := errors.Join(p.outcomes().Text(w), p.costs().Text(w)); err != nil {
			return err
		}
	}
	return nil
}

func (p *Panel) outcomes() *doc.Table {
	t := doc.NewTable("The share of trials with each outcome, with its 95 % interval (Wilson).", "guard or lock",
		"#"+p.Axis+" / timeout", "#two believe at once", "#outdated access accepted", "#update lost", "#trials", "#left out")
	for i := range p.Curves {
		c := &p.Curves[i]
		for k := range c.Points {
			at := &c.Points[k]
			out := 0
			for _, n := range at.LeftOut {
				out += n
			}
			t.Add(c.Name(), doseText(at.Dose), at.Believed.String(), at.Stale.String(), at.Lost.String(),
				strconv.Itoa(at.Trials()), strconv.Itoa(out))
		}
	}
	return t
}

func (p *Panel) costs() *doc.Table {
	t := doc.NewTable("Medians over the runs. n/a: not measured.", "guard or lock", "#acquire p50", "#hand-off p50",
		"#requests per acquisition", "#acquired/s", "#valid holds given up", "#trials", "#grants", "#runs")
	duration := func(v float64) string { return words.Duration(int64(v)) }
	for i := range p.Curves {
		c := &p.Curves[i]
		t.Add(c.Name(), words.Known(c.Costs.AcquireP50Ns, duration), words.Known(c.Costs.HandOffP50Ns, duration),
			words.Known(c.Costs.Requests, words.Digits3), words.Known(c.Costs.PerSecond, words.Digits3),
			c.Costs.GivenUp.String(), strconv.Itoa(c.Trials()), words.Grouped(c.Grants), strconv.Itoa(c.Runs))
	}
	return t
}

func doseText(dose float64) string { return strconv.FormatFloat(dose, 'f', -1, 64) }

// leftOut lists the reasons for which faults of a panel are no trials.
func (p *Panel) leftOut() map[string]int {
	all := map[string]int{}
	for i := range p.Curves {
		for k := range p.Curves[i].Points {
			for why, n := range p.Curves[i].Points[k].LeftOut {
				all[why] += n
			}
		}
	}
	return all
}

// Advice says what to do after what was measured. How says of each kind of data how it is made to refuse outdated
// accesses; it is empty if no trial did harm.
func (d *Danger) Advice() (all, how []string) {
	harmful, harmless, from := d.harm()
	if len(harmful) > 0 {
		how = guard.HowTo()
	}
	return texts.Lines("advice", map[string]any{"Danger": d, "Harmful": joined(harmful), "Harmless": joined(harmless),
		"From": doseText(from), "Manual": guard.Manual}), how
}

// harm returns the curves in which outdated accesses had an effect, those in which none had, and the least dose that
// did harm.
func (d *Danger) harm() (harmful, harmless []string, from float64) {
	var tried []string
	for i := range d.Panels {
		for k := range d.Panels[i].Curves {
			c := &d.Panels[i].Curves[k]
			name := c.Name()
			if c.Trials() > 0 && !slices.Contains(tried, name) {
				tried = append(tried, name)
			}
			for n := range c.Points {
				p := &c.Points[n]
				if p.Stale.Count+p.Lost.Count == 0 {
					continue
				}
				if len(harmful) == 0 || p.Dose < from {
					from = p.Dose
				}
				if !slices.Contains(harmful, name) {
					harmful = append(harmful, name)
				}
			}
		}
	}
	harmless = slices.DeleteFunc(tried, func(name string) bool { return slices.Contains(harmful, name) })
	return harmful, harmless, from
}

//go:embed danger.html.tmpl
var pageText string

var page = template.Must(template.New("danger").Funcs(template.FuncMap{"duration": words.Duration,
	"flags": chart.Flags}).Parse(pageText + doc.Template))

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
