package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"text/tabwriter"

	"locklab/harness/doctor"
	"locklab/harness/run"
)

type doctorCmd struct {
	Lab  string `default:"auto" enum:"${labs}" placeholder:"KIND" help:"Try labs of this kind: ${labs}."`
	JSON bool   `name:"json" help:"Print the findings as JSON."`
}

func (doctorCmd) exits() string { return exitCodes("this machine can run scenarios", exitEnvironment) }

// Run looks at the machine. It ends with 0 if runs are possible, even if some faults are not, and with 7 otherwise.
func (c *doctorCmd) Run(ctx context.Context, std streams, log *slog.Logger) error {
	d, err := doctor.Diagnose(ctx, c.Lab, run.Options{Log: log})
	if err != nil {
		return err
	}
	return tellDiagnosis(std.Out, d, c.JSON)
}

// tellDiagnosis prints the findings, and returns the exit code as an error.
func tellDiagnosis(w io.Writer, d doctor.Diagnosis, asJSON bool) (err error) {
	if asJSON {
		err = printJSON(w, d)
	} else {
		err = showDiagnosis(w, d)
	}
	if err == nil && !d.CanRun() {
		return verdictError{code: exitEnvironment, err: errSaid}
	}
	return err
}

// showDiagnosis prints the findings, how to cure each lack, and which faults this machine can do.
func showDiagnosis(w io.Writer, d doctor.Diagnosis) error {
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
