package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"locklab/harness/check"
	"locklab/harness/judge"
	"locklab/harness/rundir"
	"locklab/reports/measure"
	"locklab/reports/result"
	"locklab/reports/words"
)

// tell prints the outcome of a run, as JSON or for a person, and returns the error that the command ends with. err is
// what went wrong during the run.
func tell(std streams, out judge.Outcome, asJSON bool, err error) error {
	if out.Dir != "" {
		if asJSON {
			err = errors.Join(err, printJSON(std.Out, out.Result))
		} else {
			printOutcome(std.Out, out)
		}
		tellThresholds(std.Err, out.Result.Thresholds)
	}
	return conclude(out, err)
}

// tellThresholds says which thresholds were missed or cannot be judged. The result beside it may have gone to a file.
func tellThresholds(w io.Writer, all []result.ThresholdLine) {
	n := map[check.Result]int{}
	for _, t := range all {
		n[t.Verdict]++
		switch t.Verdict {
		case check.Pass:
		case check.Fail:
			fmt.Fprintf(w, "threshold missed: %s: %s\n", t.Expr, t.Reason)
		default:
			fmt.Fprintf(w, "threshold unknown: %s: %s\n", t.Expr, t.Reason)
		}
	}
	if len(all) > 0 {
		fmt.Fprintf(w, "thresholds: %d met, %d missed, %d unknown\n", n[check.Pass], n[check.Fail], n[check.Unknown])
	}
}

// printOutcome prints the outcome of a run for a person.
func printOutcome(w io.Writer, out judge.Outcome) {
	r := out.Result
	partial := ""
	if r.Partial {
		partial = " (partial run)"
	}
	fmt.Fprintf(w, "%s%s: %s\n\n", paint(w, r.Outcome, r.Outcome.Heading()), partial, r.Headline)
	for i, caveat := range r.Caveats {
		fmt.Fprintln(w, "warning:", caveat)
		if i == len(r.Caveats)-1 {
			fmt.Fprintln(w)
		}
	}
	if f := &r.Failures; f.Count > 0 {
		fmt.Fprintf(w, "%s:\n", f.Title())
		for _, line := range f.Lines() {
			fmt.Fprintf(w, "  %s\n", line)
		}
		fmt.Fprintln(w)
	}
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "check\texpected\tfound\t")
	for _, c := range r.Checks {
		mark := ""
		if c.Outcome != check.Pass {
			mark = "  <-- " + string(c.Outcome)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s%s\n", c.Name, c.Expected, c.Result, c.Summary, mark)
	}
	fmt.Fprintf(t, "\t\t\t%d of %d checks of the lock could judge\n", r.ChecksJudged, r.ChecksTotal)
	printConditions(t, r.Sometimes)
	printThresholds(t, r.Thresholds)
	fmt.Fprintln(t, "\t\t\t")
	if rate := r.Throughput.AcquiredPerS; rate != nil {
		fmt.Fprintf(t, "acquired\t%d\t%s/s\t%s\n", r.Operations.Acquired, words.Digits3(*rate), modes(r.Operations))
	}
	if rate := r.Throughput.OfferedPerS; rate != nil {
		fmt.Fprintf(t, "due\t\t%s/s\t%d dropped (no client was free)\n", words.Digits3(*rate), *r.Throughput.Dropped)
	}
	if n := r.Operations.TimedOut; n > 0 {
		fmt.Fprintf(t, "timed out\t%d\t\t\n", n)
	}
	if n := r.Operations.Busy; n > 0 {
		fmt.Fprintf(t, "busy\t%d\ttries\t\n", n)
	}
	for _, phase := range []string{
		measure.PhaseAcquire, measure.PhaseService, measure.PhaseHandoff, measure.PhaseHold, measure.HoldResource,
		measure.PhaseRelease,
	} {
		l := r.Latency.ByPhase(phase)
		if l == nil {
			continue
		}
		name := phase
		if phase == measure.HoldResource {
			name = "  its resource"
		}
		fmt.Fprintf(t, "%s\tp50 %s\tp99 %s\tmax %s\n", name, span(l.P50Ns), span(l.P99Ns), span(l.MaxNs))
	}
	if mean, longest := r.Failover(); mean != nil {
		fmt.Fprintf(t, "failover\tmean %s\t\tmax %s\n", span(mean), span(longest))
	}
	if n := r.Server.RequestsPerAcquire; n != nil {
		fmt.Fprintf(t, "requests\t%s\tper acquisition\t\n", words.Digits3(*n))
	}
	if n := r.Server.WatchesFiredPerRelease; n != nil {
		fmt.Fprintf(t, "watches fired\t%s\tper release\t\n", words.Digits3(*n))
	}
	if h := r.Hiccups; h != nil {
		fmt.Fprintf(t, "hiccups\tp50 %s\tp99 %s\tmax %s\n", span(h.P50Ns), span(h.P99Ns), span(h.MaxNs))
	}
	if n := r.ResidentPerClient; n != nil {
		fmt.Fprintf(t, "memory\t%d KiB\tper client\t\n", *n>>10)
	}
	printProcessorTime(t, &r)
	t.Flush()
	if note := r.Hiccups.Note(); note != "" {
		fmt.Fprintln(w, "note:", note)
	}
	for _, warning := range r.Warnings {
		fmt.Fprintln(w, "warning:", warning)
	}
	if out.Written {
		fmt.Fprintf(w, "\nreport: %s\n", rundir.ReportPath(out.Dir))
	} else {
		fmt.Fprintf(w, "\nnothing was written into %s\n", out.Dir)
	}
}

// printProcessorTime prints what the load side and the servers used of the processors.
func printProcessorTime(w io.Writer, r *result.Result) {
	show := func(name string) (string, bool) {
		q, _ := result.Named(name)
		v := q.Value(r)
		return q.Show(v), v != nil
	}
	line := func(name, processors, each, detail string) {
		if used, ok := show(processors); ok {
			per, _ := show(each)
			fmt.Fprintf(w, "%s\t%s processors\t%s each\t%s\n", name, used, per, detail)
		}
	}
	var parts []string
	for _, part := range []struct{ name, of string }{{"clients", "client_processors"}, {"agents", "agent_processors"},
		{"resource", "resource_processors"}, {"harness", "harness_processors"}} {
		if used, ok := show(part.of); ok {
			parts = append(parts, part.name+" "+used)
		}
	}
	line("load side", "load_processors", "load_per_acquire", strings.Join(parts, ", "))
	line("servers", "server_processors", "server_per_acquire", "")
}

// printConditions prints what had to happen for the run to mean anything.
func printConditions(w io.Writer, all []check.ConditionCount) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintln(w, "\t\t\t\nsometimes\tmet\thow often\t")
	for _, c := range all {
		met := "no"
		if c.Met {
			met = "yes"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", c.Condition, met, number(c.Count), c.Means)
	}
}

func printThresholds(w io.Writer, all []result.ThresholdLine) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintln(w, "\t\t\t\nthreshold\tmet\tvalue\t")
	for _, t := range all {
		met := map[check.Result]string{check.Pass: "yes", check.Fail: "no", check.Unknown: "unknown"}[t.Verdict]
		mark := ""
		if t.Verdict == check.Unknown {
			mark = t.Reason
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", t.Expr, met, t.Shown(), mark)
	}
}

// modes says what was acquired if there is more to it than locks.
func modes(n measure.Operations) string {
	switch {
	case n.Reads > 0 || n.Writes > 0:
		return fmt.Sprintf("%d to read, %d to write", n.Reads, n.Writes)
	case n.Permits > 0:
		return fmt.Sprintf("%d permits", n.Permits)
	}
	return ""
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
