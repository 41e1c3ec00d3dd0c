package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"locklab/harness/console"
	"locklab/harness/judge"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/harness/series"
	"locklab/harness/untrusted"
	"locklab/reports/export"
	"locklab/reports/index"
	"locklab/reports/runpage"
	"locklab/reports/serve"
)

type reportCmd struct {
	Dir    string         `arg:"" predictor:"dir" help:"Run directory, sweep, or folder of runs, which gets an index."`
	Only   string         `placeholder:"PICTURE" predictor:"picture" help:"${only_help}"`
	Format string         `default:"svg" enum:"svg,png" help:"With --only: svg or png, which has twice the pixels."`
	From   *time.Duration `placeholder:"3.4s" help:"With --only timeline: where it begins, since the run's start."`
	To     *time.Duration `placeholder:"4.1s" help:"With --only timeline: where it ends."`
	Lock   string         `placeholder:"NAME" help:"With --only timeline: whose holds it shows."`
}

// Run draws an old run's report. To draw it is success, whatever the run's verdict is.
func (c *reportCmd) Run(std console.Streams) error {
	if series.IsDanger(c.Dir) || series.IsSweep(c.Dir) || !rundir.IsRun(c.Dir) && index.Has(c.Dir) {
		if err := untrusted.CheckDir(c.Dir); err != nil {
			return fmt.Errorf("report %s: %w", c.Dir, err)
		}
	} else if err := checkRunDir("report", c.Dir); err != nil {
		return err
	}
	if c.Only != "" {
		return c.drawOne(std.Out)
	}
	if c.From != nil || c.To != nil || c.Lock != "" {
		return &scenario.InputError{Msg: "--from, --to and --lock are for a single picture", Hint: "add --only timeline"}
	}
	if series.IsDanger(c.Dir) {
		return reportDanger(std, c.Dir)
	}
	if series.IsSweep(c.Dir) {
		return reportSweep(std, c.Dir)
	}
	if st, err := os.Stat(c.Dir); err == nil && st.IsDir() && !rundir.IsRun(c.Dir) {
		if n, err := index.Write(c.Dir, "Runs in "+filepath.Base(c.Dir)); err != nil {
			return err
		} else if n > 0 {
			fmt.Fprintf(std.Out, "%s\n", filepath.Join(c.Dir, rundir.IndexFile))
			return nil
		}
	}
	out, err := judge.Report(c.Dir)
	if err != nil {
		return err
	}
	partial := ""
	if out.Result.Partial {
		partial = " (partial run)"
	}
	fmt.Fprintf(std.Out, "%s/%s%s\n", out.Dir, rundir.ReportFile, partial)
	return nil
}

// drawOne prints a single picture.
func (c *reportCmd) drawOne(w io.Writer) error {
	p, err := judge.DrawOne(c.Dir, runpage.Choice{Name: c.Only, From: c.From, To: c.To, Lock: c.Lock})
	if err != nil {
		return err
	}
	_, err = w.Write(map[string][]byte{"svg": p.SVG, "png": p.PNG}[c.Format])
	return err
}

type exportCmd struct {
	Dir    string `arg:"" predictor:"dir" help:"Run directory."`
	Format string `default:"edn" placeholder:"FORMAT" predictor:"export" help:"${export_format_help}"`
	JSONL  bool   `name:"jsonl" help:"Print one event per line in JSON; the same as --format=jsonl."`
}

// Run prints a run for other programs. Most formats have what the checks found, so the run is judged, but nothing is
// written into its directory.
func (c *exportCmd) Run(std console.Streams) error {
	name := c.Format
	if c.JSONL {
		name = "jsonl"
	}
	f, err := export.Named(name)
	if err != nil {
		return err
	}
	if err := checkRunDir("export", c.Dir); err != nil {
		return err
	}
	return judge.Export(c.Dir, f, std.Out)
}

type serveCmd struct {
	Dir    string   `arg:"" optional:"" default:"runs" predictor:"dir" help:"Directory with runs, at any depth."`
	Listen string   `default:"127.0.0.1:8420" placeholder:"ADDRESS" help:"${serve_listen_help}"`
	Name   []string `placeholder:"HOST" help:"${serve_name_help}"`
}

// Run serves the runs below a directory until ctx ends.
func (c *serveCmd) Run(ctx context.Context, std console.Streams) error {
	at, err := netip.ParseAddrPort(c.Listen)
	if err != nil {
		return &scenario.InputError{Flag: "--listen", Msg: fmt.Sprintf("%q is not an IP address with a port", c.Listen),
			Hint: "such as 127.0.0.1:8420"}
	}
	s, err := serve.New(serve.Config{Dir: c.Dir, Names: c.Name})
	if err != nil {
		return err
	}
	defer s.Close()
	l, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(at))
	if err != nil {
		return &scenario.InputError{Flag: "--listen", Msg: err.Error(), Hint: "port 0 takes a free one"}
	}
	if !at.Addr().IsLoopback() {
		fmt.Fprintf(std.Err, "warning: whoever can reach %s can read everything in %s\n", l.Addr(), c.Dir)
	}
	fmt.Fprintf(std.Out, "http://%s/\n", l.Addr())
	return s.Serve(ctx, l)
}
