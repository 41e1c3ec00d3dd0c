package console

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"text/template"

	"locklab/harness/check/evidence"
	"locklab/harness/judge"
	"locklab/harness/rundir"
	"locklab/harness/series"
	"locklab/reports/measure"
	"locklab/reports/result"
	"locklab/reports/words"
)

// PrintOutcome prints the outcome of a run to std.Out, as JSON or for a person. It tells std.Err which thresholds were
// missed or cannot be judged.
func PrintOutcome(std Streams, out judge.Outcome, asJSON bool) (err error) {
	if asJSON {
		err = PrintJSON(std.Out, out.Result)
	} else {
		printSummary(std.Out, out)
	}
	tellThresholds(std.Err, out.Result.Thresholds)
	return err
}

// tellThresholds says which thresholds were missed or cannot be judged. The result beside it may have gone to a file.
func tellThresholds(w io.Writer, all []result.ThresholdLine) {
	n := map[evidence.Result]int{}
	for _, t := range all {
		n[t.Verdict]++
		switch t.Verdict {
		case evidence.Pass:
		case evidence.Fail:
			fmt.Fprintf(w, "threshold missed: %s: %s\n", t.Expr, t.Reason)
		default:
			fmt.Fprintf(w, "threshold unknown: %s: %s\n", t.Expr, t.Reason)
		}
	}
	if len(all) > 0 {
		fmt.Fprintf(w, "thresholds: %d met, %d missed, %d unknown\n", n[evidence.Pass], n[evidence.Fail], n[evidence.Unknown])
	}
}

//go:embed outcome.tmpl tables.tmpl
var formTexts embed.FS

// forms has what commands print for a person: the head, the table and the tail of a run's outcome, and other tables.
var forms = template.Must(template.New("").Funcs(template.FuncMap{
	"span":   func(ns *int64) string { return words.Known(ns, words.Duration) },
	"number": func(n *int64) string { return words.Known(n, func(n int64) string { return strconv.FormatInt(n, 10) }) },
	"spaced": func(o result.Outcome) string { return strings.ReplaceAll(string(o), "-", " ") },
	"overlap": func(ns *int64) string {
		if words.Value(ns) <= 0 {
			return "-"
		}
		return words.Duration(*ns)
	},
	"join":     func(all []string) string { return strings.Join(all, ", ") },
	"attempts": func(r series.Reproduction) string { return words.Count(int64(r.Attempts), "attempt") },
	"judged":   func(r series.Reproduction) *evidence.Verdict { return r.Outcome.Report.Check(string(r.Bug.Check)) },
	"report":   rundir.ReportPath, "timeline": rundir.TimelinePath,
	"digits": func(v *float64) string { return words.Digits3(*v) },
	"kib":    func(n *int64) int64 { return *n >> 10 },
	"met": func(v evidence.Result) string {
		return map[evidence.Result]string{evidence.Pass: "yes", evidence.Fail: "no", evidence.Unknown: "unknown"}[v]
	},
	"phases": func() []string {
		return []string{measure.PhaseAcquire, measure.PhaseService, measure.PhaseHandoff, measure.PhaseHold,
			measure.HoldResource, measure.PhaseRelease}
	},
	"failover": func(r *result.Result) []*int64 {
		if mean, longest := r.Failover(); mean != nil {
			return []*int64{mean, longest}
		}
		return nil
	},
	"used": used,
	"show": func(r *result.Result, name string) string {
		q, _ := result.Named(name)
		return q.Show(q.Value(r))
	},
	"parts": loadParts,
}).ParseFS(formTexts, "*.tmpl"))

// A Form is what a command prints for a person of one kind of data.
type Form string

// The forms of tables.tmpl.
const (
	Acts         Form = "acts"             // results, each with a Number and a Title
	Scenarios    Form = "scenarios"        // groups of scenarios
	Bugs         Form = "bugs"             // known bugs
	Bug          Form = "bug"              // a [series.Reproduction]
	BugInOneLine Form = "bug, in one line" // the same
	Diagnosis    Form = "diagnosis"        // what the doctor found
)

// PrintTable prints data in columns, in a form that is made for them.
func PrintTable(w io.Writer, form Form, data any) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	return errors.Join(forms.ExecuteTemplate(t, string(form), data), t.Flush())
}

// used writes how many processors were used; empty if it is not known.
func used(r *result.Result, name string) string {
	q, _ := result.Named(name)
	if v := q.Value(r); v != nil {
		return q.Show(v)
	}
	return ""
}

// loadParts says what each part of the load side used of the processors.
func loadParts(r *result.Result) string {
	var parts []string
	for _, part := range [][2]string{{"clients", "client_processors"}, {"agents", "agent_processors"},
		{"resource", "resource_processors"}, {"harness", "harness_processors"}} {
		if used := used(r, part[1]); used != "" {
			parts = append(parts, part[0]+" "+used)
		}
	}
	return strings.Join(parts, ", ")
}

// printSummary prints the outcome of a run for a person.
func printSummary(w io.Writer, out judge.Outcome) {
	r := &out.Result
	view := struct {
		*result.Result
		Heading, Dir, Report string
		Written              bool
	}{r, Paint(w, r.Outcome, r.Outcome.Heading()), out.Dir, rundir.ReportPath(out.Dir), out.Written}
	err := errors.Join(forms.ExecuteTemplate(w, "head", view), PrintTable(w, "table", r),
		forms.ExecuteTemplate(w, "tail", view))
	if err != nil {
		fmt.Fprintln(w, err)
	}
}
