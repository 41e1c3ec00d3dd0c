package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"strings"
	"time"

	"locklab/harness/console"
	"locklab/harness/inspect"
	"locklab/harness/scenario"
	"locklab/harness/untrusted"
)

type inspectCmd struct {
	Servers string `arg:"" name:"servers" help:"${inspect_servers_help}"`
	way

	Depth       int           `default:"8" help:"How many levels of znodes below the path are looked at."`
	MaxRequests int           `default:"20000" help:"How many reads may be sent, at most 1,000 a second."`
	Timeout     time.Duration `default:"30s" help:"How long the look may take in all, or each look of --watch."`
	Watch       bool          `help:"${inspect_watch_help}"`
	JSON        bool          `name:"json" help:"Print the report as JSON. With --watch, print one report a line."`
	DryRun      bool          `help:"Say what would be asked, and ask nothing."`
}

// Run looks at locks of a live ensemble.
func (c inspectCmd) Run(ctx context.Context, std console.Streams) error {
	for _, n := range []struct {
		flag      string
		n, lo, hi int
	}{{"--depth", c.Depth, 1, 64}, {"--max-requests", c.MaxRequests, 1, 10_000_000}} {
		if n.n < n.lo || n.n > n.hi {
			return &scenario.InputError{Flag: n.flag, Msg: fmt.Sprint(n.n), Hint: fmt.Sprintf("from %d to %d", n.lo, n.hi)}
		}
	}
	if c.Timeout < time.Second || c.Timeout > time.Hour {
		return &scenario.InputError{Flag: "--timeout", Msg: c.Timeout.String(), Hint: "from 1s to 1h"}
	}
	access, err := c.target(strings.TrimRight(c.Servers, "/")).Open()
	if err != nil {
		wrong := &scenario.InputError{Msg: err.Error()}
		if text, ok := strings.CutPrefix(wrong.Msg, "--connect: "); ok { // which other commands have
			wrong.Flag, wrong.Msg, wrong.Hint = "<servers>", strings.Replace(text, "chroot", "path", 1),
				"such as zk1:2181,zk2:2181/locks"
		}
		return wrong
	}
	at := path.Join("/", access.Chroot)
	access.Chroot = ""
	if c.DryRun {
		_, err := fmt.Fprintf(std.Out, "One session with %s; at most %d reads of %s and below, %d levels deep, at most "+
			"%d a second; the words srvr and cons to each server, at most four times. No write, no watch.\n",
			strings.Join(access.Servers, " or "), c.MaxRequests, at, c.Depth, inspect.MostPerSecond)
		return err
	}
	cfg := inspect.Config{Access: access, Path: at, Depth: c.Depth, MaxRequests: c.MaxRequests,
		Log: slog.New(slog.DiscardHandler)}
	opening, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	look, err := inspect.Open(opening, cfg)
	if err != nil {
		return err
	}
	defer look.Close(context.WithoutCancel(ctx))
	if c.Watch {
		return look.Watch(ctx, c.Timeout, func(before, now *inspect.Report) error { return c.changes(std, before, now) })
	}
	report, err := look.Look(opening)
	switch {
	case errors.Is(err, inspect.ErrNoPath):
		return &scenario.InputError{Msg: err.Error(), Hint: "a path that exists, or none for all locks"}
	case err != nil:
		return err
	}
	if err := c.print(std, report); err != nil {
		return err
	}
	return ended(report)
}

// changes prints what has changed since the look before.
func (c inspectCmd) changes(std console.Streams, before, now *inspect.Report) error {
	if c.JSON {
		return c.print(std, now)
	}
	lines := now.Changes(before)
	if now.Incomplete != "" && (before == nil || before.Incomplete != now.Incomplete) {
		lines = append(lines, untrusted.Line("not everything was seen: "+now.Incomplete))
	}
	for _, line := range lines {
		if _, err := fmt.Fprintf(std.Out, "%s %s\n", time.Now().Format(time.TimeOnly), line); err != nil {
			return err
		}
	}
	return nil
}

func (c inspectCmd) print(std console.Streams, r *inspect.Report) error {
	if !c.JSON {
		return r.Write(std.Out, time.Now())
	}
	e := json.NewEncoder(std.Out)
	if !c.Watch {
		e.SetIndent("", "  ")
	}
	return e.Encode(r)
}

// ended returns what the command ends with after a report.
func ended(r *inspect.Report) error {
	switch v := r.Verdict(); {
	case v.Bad():
		return verdictError{code: exitViolation}
	case v == inspect.Unclear:
		return verdictError{code: exitUnknown}
	}
	return nil
}
