package main

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"text/tabwriter"

	"locklab/harness/console"
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
func (c *driverCheckCmd) Run(ctx context.Context, std console.Streams) error {
	argv := c.Command
	if len(argv) > 0 {
		argv[0] = strings.TrimPrefix(argv[0], lock.ExecPrefix) // as a recipe is written
	}
	if len(argv) == 1 {
		var err error
		if argv, err = lock.Argv(argv[0]); err != nil {
			return &scenario.InputError{Msg: err.Error(), Hint: "a command and its arguments, without quotes around them all"}
		}
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
	said := &quoted{to: std.Err}
	cfg := drivercheck.Config{Argv: argv, Stderr: said, Connect: access}
	n := map[drivercheck.Outcome]int{}
	w := tabwriter.NewWriter(std.Out, len("session lost while waiting")+2, 0, 2, ' ', 0)
	err = drivercheck.Run(ctx, cfg, func(r drivercheck.Result) {
		_, _ = said.Write(nil) // whatever the driver of this case said stands before its line
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

// A quoted passes on what drivers say line by line, and says that a driver said it. Writing nothing ends a line.
type quoted struct {
	to   io.Writer
	mu   sync.Mutex // several drivers may write at once
	rest string     // a line that has not ended
}

func (q *quoted) Write(b []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.rest += string(b); ; {
		line, rest, ended := strings.Cut(q.rest, "\n")
		if !ended && len(line) < 4096 && (line == "" || len(b) > 0) {
			return len(b), nil
		}
		q.rest = rest
		if _, err := fmt.Fprintf(q.to, "driver: %s\n", untrusted.Line(line)); err != nil {
			return 0, err
		}
	}
}
