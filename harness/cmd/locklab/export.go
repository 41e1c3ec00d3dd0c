package main

import (
	"locklab/harness/judge"
	"locklab/reports/export"
)

type exportCmd struct {
	Dir    string `arg:"" predictor:"dir" help:"Run directory."`
	Format string `default:"edn" placeholder:"FORMAT" predictor:"export" help:"${export_format_help}"`
	JSONL  bool   `name:"jsonl" help:"Print one event per line in JSON; the same as --format=jsonl."`
}

const exportFormatHelp = "edn (for Jepsen's tools), jsonl, trace (for Perfetto), csv (a row per second), prometheus, " +
	"bench (for benchstat), hlog (HdrHistogram), junit or markdown."

func (exportCmd) exits() string { return exitCodes("the run was printed, whatever its verdict is") }

// Run prints a run for other programs. Most formats have what the checks found, so the run is judged, but nothing is
// written into its directory.
func (c *exportCmd) Run(std streams) error {
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
