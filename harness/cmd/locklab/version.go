package main

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/alecthomas/kong"

	"locklab/harness/rundir"
	"locklab/workloads/control"
)

// A versionFlag prints what this binary was built from, and ends the process.
type versionFlag bool

// BeforeReset implements kong's hook, which comes before the rest of the command line is looked at.
func (versionFlag) BeforeReset(app *kong.Kong) error {
	info, _ := debug.ReadBuildInfo()
	if err := writeVersion(app.Stdout, rundir.Release(), info); err != nil {
		return err
	}
	app.Exit(exitOK)
	return nil
}

// writeVersion writes the version, the commit, the version of Go and the version of the protocol between the harness
// and its client processes. A release is built with a version; otherwise the go command may have recorded one.
func writeVersion(w io.Writer, release string, info *debug.BuildInfo) error {
	if info == nil {
		info = &debug.BuildInfo{}
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	commit := cmp.Or(settings["vcs.revision"], "unknown")
	if settings["vcs.modified"] == "true" {
		commit += ", with changes that are not committed"
	}
	_, err := fmt.Fprintf(w, "locklab %s\ncommit: %s\ngo: %s %s/%s\nprotocol: %d\n",
		cmp.Or(release, info.Main.Version, "(devel)"), commit, cmp.Or(info.GoVersion, runtime.Version()), runtime.GOOS,
		runtime.GOARCH, control.Protocol)
	return err
}
