package main

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"text/tabwriter"

	"locklab/harness/scenario"
	"locklab/harness/untrusted"
	"locklab/workloads/foreign/drivercheck"
	"locklab/workloads/lock"
)

type driverCmd struct {
	Check driverCheckCmd `cmd:"" help:"Try a driver on the lock protocol, and say in words what is wrong with it."`
}

type driverCheckCmd struct {
	Connect string `placeholder:"SERVERS" help:"${driver_connect_help}"`
	way

	Command []string `arg:"" passthrough:"" placeholder:"CMD" help:"${driver_check_help}"`
}

// Run tries a driver case by case.
func (c *driverCheckCmd) Run(ctx context.Context, std streams) error {
	argv := c.Command
	if len(argv) > 0 {
		argv[0] = strings.TrimPrefix(argv[0], lock.ExecPrefix) // as a recipe is written
	}
	if len(argv) == 1 {
		argv = strings.Fields(argv[0])
	}
	if len(argv) == 0 {
		return &scenario.InputError{Msg: "no command", Hint: "locklab driver check ./mylock"}
	}
	if _, err := exec.LookPath(argv[0]); err != nil {
		return &scenario.InputError{Msg: err.Error(), Hint: "a program that can be executed, such as ./mylock"}
	}
	access, err := c.open(c.Connect)
	if err != nil {
		return err
	}
	cfg := drivercheck.Config{Argv: argv, Stderr: std.Err, Connect: access}
	n := map[drivercheck.Outcome]int{}
	w := tabwriter.NewWriter(std.Out, len("session lost while waiting")+2, 0, 2, ' ', 0)
	err = drivercheck.Run(ctx, cfg, func(r drivercheck.Result) {
		n[r.Outcome]++
		fmt.Fprintf(w, "%s\t%s\n", r.Case, untrusted.Text(fmt.Sprintf("%-8s  %s", r.Outcome, r.Text)))
		w.Flush()
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(std.Out, "\n%d ok, %d with a note, %d left out, %d wrong.\n", n[drivercheck.OK], n[drivercheck.Note],
		n[drivercheck.Skipped], n[drivercheck.Wrong])
	if n[drivercheck.Wrong] > 0 {
		return verdictError{code: exitViolation}
	}
	return nil
}
