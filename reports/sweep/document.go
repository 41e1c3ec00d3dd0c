package sweep

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"

	"locklab/harness/check/evidence"
	"locklab/reports/chart"
	"locklab/reports/doc"
	"locklab/reports/result"
	"locklab/reports/words"
)

//go:embed texts.tmpl
var textsText string

// texts has the longer texts of a sweep.
var texts = doc.NewProse(textsText, map[string]any{"span": words.Duration, "digits": words.Digits3, "has": has,
	"grouped": func(n int) string { return words.Grouped(int64(n)) },
	"count":   func(n int, noun string) string { return words.Count(int64(n), noun) },
	"upper":   words.Upper, "is": func(b *bool) bool { return b != nil && *b },
	"same": func(a, b *float64) bool { return *a == *b }, "amount": (*Sweep).amount, "fewest": (*Sweep).fewest,
	"interval": (*Sweep).interval, "shared": (*Point).shared})

// Print writes a sweep for a terminal: headlines, the table, what ran out, and warnings.
func Print(w io.Writer, s Sweep) error {
	for _, line := range s.Headlines() {
		fmt.Fprintln(w, line)
	}
	for _, t := range []*doc.Table{s.table(), s.failoverTable()} {
		if t == nil {
			continue
		}
		if err := t.Text(w); err != nil {
			return err
		}
	}
	for i, list := range [][]string{slices.Concat(s.failoverNotes(), s.drops()), s.resources(), s.Warnings} {
		for _, line := range list {
			fmt.Fprintln(w, []string{"note: ", "ran out first: ", "warning: "}[i]+line)
		}
	}
	return nil
}

// columns are the quantities that the table shows besides the throughput.
func columns() []result.Quantity {
	return slices.DeleteFunc(result.Quantities(), func(q result.Quantity) bool { return q.Column == "" })
}

// table is the sweep's points as text. Those of a series follow one another.
func (s *Sweep) table() *doc.Table {
	var head []string
	for _, p := range s.Params {
		head = append(head, p.Key)
	}
	if len(s.Saturate) > 0 {
		head = append(head, "answer: "+s.Over, "too much", "95 % interval", "acquired/s", "windows")
	} else {
		head = append(head, "runs", "acquired/s", "min…max")
		for _, q := range columns() {
			head = append(head, q.Column)
		}
		head = append(head, "verdict")
	}
	t := doc.NewTable("Medians over the runs of a point. n/a: not measured, or too few samples for that percentile.",
		doc.Numbers(head...)...)
	for _, p := range s.points() {
		t.Add(s.row(p)...)
	}
	return t
}

func (s *Sweep) row(p *Point) []string {
	var row []string
	for _, param := range s.Params {
		row = append(row, cmp.Or(p.Values[param.Key], "–"))
	}
	if len(s.Saturate) > 0 {
		l := p.Limit
		if l == nil {
			return append(row, words.Absent, words.Absent, words.Absent, words.Absent, "0")
		}
		return append(row, number(l.Lower), number(l.Upper), number(l.Low)+"…"+number(l.High), number(l.ConditionalPerS),
			strconv.Itoa(len(l.Trials)))
	}
	ranged := ""
	if p.Runs > 1 {
		ranged = number(p.AcquiredPerSMin) + "…" + number(p.AcquiredPerSMax)
	}
	row = append(row, strconv.Itoa(p.Runs), number(p.AcquiredPerS), ranged)
	for _, q := range columns() {
		row = append(row, q.Show(p.median(q.Name())))
	}
	return append(row, string(p.Verdict))
}

func number(v *float64) string { return words.Known(v, words.Digits3) }

// Headlines says what the sweep found, in a sentence for each series, or for each point that was searched.
func (s *Sweep) Headlines() []string {
	all := s.caveats()
	if len(s.Saturate) > 0 {
		for series, p := range s.points() {
			all = append(all, s.limitHeadlines(series, p)...)
		}
		return all
	}
	found := s.failoverHeadlines()
	if len(found) == 0 {
		for i := range s.Series {
			found = append(found, s.throughputHeadline(&s.Series[i]))
		}
	}
	all = append(all, found...)
	bad := 0
	for _, p := range s.points() {
		if p.Verdict != evidence.Pass {
			bad++
		}
	}
	if bad > 0 {
		all = append(all, fmt.Sprintf("%d of the points did not pass: see the table.", bad))
	}
	return all
}

// caveats are the warnings of points that lead.
func (s *Sweep) caveats() []string {
	var all []string
	for series, p := range s.points() {
		for _, c := range p.Caveats {
			all = append(all, fmt.Sprintf("Warning: %s: %s.", s.pointName(series, p), c))
		}
	}
	return all
}

func (s *Sweep) throughputHeadline(series *Series) string {
	name := series.Name
	if name != "" {
		name += ": "
	}
	var best *Point
	for k := range series.Points {
		if p := &series.Points[k]; p.AcquiredPerS != nil && (best == nil || *p.AcquiredPerS > *best.AcquiredPerS) {
			best = p
		}
	}
	if best == nil {
		return name + "nothing was measured."
	}
	text := fmt.Sprintf("%sat most %s acquisitions a second were measured", name, number(best.AcquiredPerS))
	if s.Load != "" {
		text += fmt.Sprintf(", at %s %s", s.Load, s.label(best.Load))
	}
	if from, to := series.flat(s.Load); from > 0 {
		text += fmt.Sprintf("; from %s clients on, more of them only waited longer (measured up to %s)",
			words.Digits3(from), words.Digits3(to))
	}
	return text + "."
}

// flatWithin is by which share the throughput may still rise where more clients only wait.
const flatWithin = 0.05

// flat returns the fewest clients of a closed loop beyond which throughput was not seen to rise, up to at least twice
// as many, and how many were measured at most; 0 if it was not seen.
func (s *Series) flat(load string) (from, to float64) {
	if load != "clients" {
		return 0, 0
	}
	var all []*Point
	for i := range s.Points {
		if p := &s.Points[i]; p.AcquiredPerS != nil && p.Rate == nil {
			all = append(all, p)
		}
	}
	for i, p := range all {
		last := all[len(all)-1]
		if last.Load < 2*p.Load {
			break
		}
		if !slices.ContainsFunc(all[i+1:], func(o *Point) bool { return *o.AcquiredPerS > *p.AcquiredPerS*(1+flatWithin) }) {
			return p.Load, last.Load
		}
	}
	return 0, 0
}

// shared says that servers and load used up the processors that they share; empty if they did not, or do not share any.
func (p *Point) shared() string {
	load, served, all := p.used["load_processors"], p.used["server_processors"], p.used["processors"]
	if !result.UseUp(load, served, all) {
		return ""
	}
	return fmt.Sprintf(" The servers (%s) and the load (%s) shared %s processors and used them up: servers of their own "+
		"can do more.", words.Digits3(served), words.Digits3(load), words.Digits3(all))
}

func (s *Sweep) pointName(series *Series, p *Point) string {
	name := series.Name
	if s.Load != "" {
		if name != "" {
			name += ", "
		}
		name += s.Load + " " + s.label(p.Load)
	}
	return cmp.Or(name, s.Scenario)
}

// Advice says what to do after what was measured.
func (s *Sweep) Advice() []string {
	v := struct {
		*Sweep
		Violated, Missed int
		Plans            []string
		Busy             int // the share of the time in percent, if a lock is taken for as long
	}{Sweep: s}
	for _, p := range s.points() {
		switch {
		case p.Violation:
			v.Violated++
		case len(s.Saturate) == 0 && p.Verdict != evidence.Pass:
			v.Missed++
		}
		if p.Rate == nil && p.Clients > p.Locks && slices.ContainsFunc(exhausted(usesOf(p.Medians)),
			func(r string) bool { return r == TheLock || r == HandOff }) {
			v.Busy = 100 * result.UsedUp
		}
	}
	if len(s.Saturate) > 0 {
		for series, p := range s.points() {
			if text := s.plan(p); text != "" {
				v.Plans = append(v.Plans, s.pointName(series, p)+": "+text)
			}
		}
	}
	return texts.Lines("advice", v)
}

// plan says what a limit that was found is good for; empty if there is none.
func (s *Sweep) plan(p *Point) string {
	l := p.Limit
	if l == nil || l.Unknown != "" || l.Lower == nil {
		return ""
	}
	if l.Low != nil {
		bound := "most"
		if s.fewest(l) {
			bound = "least"
		}
		return fmt.Sprintf("plan with at %s %s, the safe end of the interval.", bound, s.amount(l.Low))
	}
	return fmt.Sprintf("%s kept the limit, and how sure that is was not measured: leave a margin.",
		words.Upper(s.amount(l.Lower)))
}

// has writes "One point has" or "3 points have".
func has(n int) string {
	if n == 1 {
		return "One point has"
	}
	return words.Count(int64(n), "point") + " have"
}

//go:embed sweep.html.tmpl
var pageText string

var page = template.Must(template.New("sweep").Funcs(template.FuncMap{"flags": chart.Flags}).
	Parse(pageText + doc.Template))

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

func (s *Sweep) view(pictures []chart.Picture) map[string]any {
	return map[string]any{"Sweep": s, "Style": chart.PageStyle, "Pictures": pictures, "Points": s.table(),
		"Failovers": s.failoverTable(), "FailoverNotes": s.failoverNotes(), "Resources": s.resources(),
		"Windows": s.windowTable(), "Drops": s.drops(), "Search": s.searchMethod(),
		"Headlines": s.Headlines(), "Advice": s.Advice()}
}
