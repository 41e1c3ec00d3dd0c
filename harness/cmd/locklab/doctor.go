package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"text/tabwriter"

	"locklab/harness"
)

type doctorCmd struct {
	JSON bool `name:"json" help:"Print the findings as JSON."`
}

// Run looks at the machine. It is well (0) if runs are possible, whatever single faults lack, and lacks
// something (7) otherwise.
func (c *doctorCmd) Run(ctx context.Context, std streams, log *slog.Logger) error {
	d, err := harness.Diagnose(ctx, harness.Options{Log: log})
	if err != nil {
		return err
	}
	return tellDiagnosis(std.Out, d, c.JSON)
}

// tellDiagnosis prints what was found, and returns the exit code as an error.
func tellDiagnosis(w io.Writer, d harness.Diagnosis, asJSON bool) (err error) {
	if asJSON {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		err = enc.Encode(d)
	} else {
		err = showDiagnosis(w, d)
	}
	if err == nil && !d.Well() {
		return verdictError{code: exitEnvironment, err: errSaid}
	}
	return err
}

// showDiagnosis prints what was found, each lack with its cure, and which faults can be done.
func showDiagnosis(w io.Writer, d harness.Diagnosis) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range d.Findings {
		mark := "ok"
		switch {
		case !f.OK && f.Needed:
			mark = "LACKS"
		case !f.OK:
			mark = "weak"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", mark, f.Name, f.Detail)
		if f.Cure != "" {
			fmt.Fprintf(t, "\t\t  %s\n", f.Cure)
		}
	}
	if len(d.Faults) > 0 {
		fmt.Fprintln(t, "\nfaults")
	}
	for _, f := range d.Faults {
		mark := "can"
		if !f.Can {
			mark = "cannot"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", mark, f.Kind, f.Family, f.Lacks)
	}
	return t.Flush()
}
