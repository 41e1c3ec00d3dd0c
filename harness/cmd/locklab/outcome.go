package main

import (
	"fmt"
	"io"
	"path/filepath"
	"text/tabwriter"
	"time"

	"locklab/harness"
	"locklab/harness/check"
	"locklab/reports"
)

// printOutcome prints what a run came to, for a person.
func printOutcome(w io.Writer, out harness.Outcome) {
	r := out.Result
	partial := ""
	if r.Partial {
		partial = " (partial run)"
	}
	fmt.Fprintf(w, "%s%s: %s\n\n", r.Verdict, partial, r.Headline)
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "check\texpected\tfound\t")
	for _, c := range r.Checks {
		mark := ""
		if c.Outcome != check.Pass {
			mark = "  <-- " + string(c.Outcome)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s%s\n", c.Name, c.Expected, c.Result, c.Summary, mark)
	}
	fmt.Fprintln(t, "\t\t\t")
	if rate := r.Throughput.AcquiredPerS; rate != nil {
		fmt.Fprintf(t, "acquired\t%d\t%.0f/s\t\n", r.Operations.Acquired, *rate)
	}
	for _, phase := range []string{reports.PhaseAcquire, reports.PhaseHandoff, reports.PhaseHold, reports.PhaseRelease} {
		l := r.Latency.ByPhase(phase)
		fmt.Fprintf(t, "%s\tp50 %s\tp99 %s\tmax %s\n", phase, span(l.P50Ns), span(l.P99Ns), span(l.MaxNs))
	}
	if n := r.Server.RequestsPerAcquire; n != nil {
		fmt.Fprintf(t, "requests\t%.2f\tper acquisition\t\n", *n)
	}
	if n := r.Server.WatchesFiredPerRelease; n != nil {
		fmt.Fprintf(t, "watches fired\t%.2f\tper release\t\n", *n)
	}
	t.Flush()
	for _, warning := range r.Warnings {
		fmt.Fprintln(w, "warning:", warning)
	}
	fmt.Fprintf(w, "\nreport: %s\n", filepath.Join(out.Dir, harness.ReportFile))
}

func span(ns *int64) string {
	if ns == nil {
		return "n/a"
	}
	d := time.Duration(*ns)
	switch {
	case d >= time.Second:
		return d.Round(time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(100 * time.Nanosecond).String()
}
