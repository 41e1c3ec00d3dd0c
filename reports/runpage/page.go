package runpage

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strconv"
	"strings"

	"locklab/harness/check"
	"locklab/reports/chart"
	"locklab/reports/result"
	"locklab/reports/words"
)

//go:embed report.html.tmpl
var pageText string

var page = template.Must(template.New("report").Funcs(template.FuncMap{
	"dur": func(ns *int64) string {
		if ns == nil {
			return words.Absent
		}
		return words.Duration(*ns)
	},
	"at": func(ns *int64) string {
		if ns == nil {
			return words.Absent
		}
		return strconv.FormatFloat(chart.Seconds(*ns), 'f', 3, 64) + " s"
	},
	"num": func(n *int64) string {
		if n == nil {
			return words.Absent
		}
		return words.Grouped(*n)
	},
	"real": func(v *float64) string {
		if v == nil {
			return words.Absent
		}
		return words.Digits3(*v)
	},
	"grouped": words.Grouped,
	"plain":   result.PlainName,
	"yes": func(b bool) string {
		if b {
			return "yes"
		}
		return "no"
	},
	"or": func(s, otherwise string) string {
		if s == "" {
			return otherwise
		}
		return s
	},
}).Parse(pageText))

// shownFindings is how many findings of a check the page shows. verdicts.json has all that the check kept.
const shownFindings = 8

type pageView struct {
	result.Input
	Style       template.CSS
	Tiles, Rows []number
	Pictures    []chart.PagePicture
	Missing     []chart.Picture
	Evidence    []evidence
	Phases      []phaseRow
	Facts       [][2]string
	Window      string
	Empty       bool
}

// A number is a quantity of the run as the page shows it.
type number struct{ Label, Value, Means string }

// numbers returns the quantities that have a label, in the order of the catalogue.
func numbers(r *result.Result, label func(result.Quantity) string) []number {
	var all []number
	for _, q := range result.Quantities() {
		if text := label(q); text != "" {
			all = append(all, number{text, q.Show(q.Value(r)), q.Means})
		}
	}
	return all
}

type evidence struct {
	Check check.Verdict
	Shown []check.Finding
	More  int64
}

type phaseRow struct {
	Name, Means string
	result.Latency
}

var phaseMeanings = map[string]string{
	result.PhaseAcquire: "asked for the lock → got it",
	result.PhaseArrival: "was due → a client asked for the lock",
	result.PhaseService: "a client asked for the lock → got it",
	result.PhaseEnqueue: "asked for the lock → had its place in the queue",
	result.PhaseWait:    "had its place in the queue → got it",
	result.PhaseHandoff: "previous holder began to release → next one, already queued, got it",
	result.PhaseHold:    "got it → began to release",
	result.PhaseRelease: "began to release → released",
}

// writePage writes report.html.
func writePage(w io.Writer, in result.Input, drawn []chart.Picture) error {
	v := pageView{Input: in, Style: chart.PageStyle, Empty: in.Result.Operations.AcquiredInRun == 0,
		Tiles: numbers(&in.Result, func(q result.Quantity) string { return q.Tile }),
		Rows:  numbers(&in.Result, func(q result.Quantity) string { return q.Row })}
	for _, p := range drawn {
		if p.PNG == nil {
			v.Missing = append(v.Missing, p)
			continue
		}
		v.Pictures = append(v.Pictures, p.OnPage())
	}
	for _, c := range in.Report.Checks {
		if len(c.Findings) > 0 {
			shown := c.Findings[:min(len(c.Findings), shownFindings)]
			v.Evidence = append(v.Evidence, evidence{c, shown, max(int64(len(c.Findings)), c.Count) - int64(len(shown))})
		}
	}
	for _, name := range result.Phases {
		means := phaseMeanings[name]
		if name == result.PhaseAcquire && in.Scenario.Open() {
			means = "was due → got it"
		}
		if l := in.Result.Latency.ByPhase(name); l != nil {
			v.Phases = append(v.Phases, phaseRow{name, means, *l})
		}
	}
	for _, part := range []phaseRow{{Name: result.AcquireRead, Means: "the same, to read"},
		{Name: result.AcquireWrite, Means: "the same, to write"}} {
		if l := in.Result.Latency.ByPhase(part.Name); l != nil {
			v.Phases = append(v.Phases, phaseRow{strings.ReplaceAll(part.Name, "_", " to "), part.Means, *l})
		}
	}
	if win := result.MeasuredWindow(in.Events); win.Measured {
		v.Window = fmt.Sprintf("%s, from %.3f s to %.3f s of the run", words.Duration(win.To-win.From),
			chart.Seconds(win.From), chart.Seconds(win.To))
	}
	v.Facts = environment(in.Run)
	if err := page.Execute(w, v); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}
