package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"locklab/ensembles"
	"locklab/ensembles/debian"
	"locklab/ensembles/kubernetes"
	"locklab/ensembles/labs"
	"locklab/ensembles/process"
	"locklab/ensembles/remote"
	"locklab/harness/console"
	"locklab/harness/doctor"
	"locklab/harness/run"
	"locklab/harness/scenario"
	"locklab/recipes/curator"
)

type cleanCmd struct {
	Connect string `placeholder:"SERVERS" help:"${clean_connect_help}"`
	way
}

// A way says how to reach an ensemble that is named elsewhere on the command line.
type way struct {
	CA   string `name:"connect-ca" placeholder:"FILE" predictor:"file" help:"${connect_ca_help}"`
	Cert string `name:"connect-cert" placeholder:"FILE" predictor:"file" help:"${connect_cert_help}"`
	Key  string `name:"connect-key" placeholder:"FILE" predictor:"file" help:"${connect_key_help}"`
	Auth string `name:"connect-auth" placeholder:"WHERE" help:"${connect_auth_help}"`
}

func (w way) target(connect string) remote.Target {
	return remote.Target{Connect: connect, CA: w.CA, Cert: w.Cert, Key: w.Key, Auth: w.Auth}
}

// open opens the ensemble that --connect names; nil if it names none. Then the other flags are a mistake.
func (w way) open(connect string) (*remote.Access, error) {
	if connect == "" && w != (way{}) {
		return nil, &scenario.InputError{Flag: "--connect", Msg: "the other flags say how to reach an ensemble, and none " +
			"is named", Hint: "--connect host:port"}
	}
	if connect == "" {
		return nil, nil
	}
	access, err := w.target(connect).Open()
	if err != nil {
		return nil, &scenario.InputError{Msg: err.Error()}
	}
	return access, nil
}

// Run removes leftovers.
func (c cleanCmd) Run(ctx context.Context, log *slog.Logger) error {
	access, err := c.open(c.Connect)
	if err != nil {
		return err
	}
	if access == nil {
		return labs.Clean(ctx, log)
	}
	if _, err := access.Inspect(ctx); err != nil {
		return err
	}
	return errors.Join(access.Clean(ctx, log), process.Kind{}.Clean(ctx, log))
}

type curatorCmd struct {
	Version string `arg:"" optional:"" help:"Which version; the newest that can be had if none is given."`
}

// Run gets Curator, unless it is there, and compiles its driver to where runs look for it, beside the binary. Runs
// would compile it themselves, but a set-up that fails should fail before anything else begins.
func (c curatorCmd) Run(ctx context.Context, std console.Streams, log *slog.Logger) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if c.Version != "" && !slices.Contains(curator.Versions, c.Version) {
		return scenario.Refuse("curator", "one of "+strings.Join(curator.Versions, ", ")+"; "+curator.EnvJars+
			" names the jars of another", "there is no package of Curator %s", c.Version)
	}
	version := c.Version
	if version == "" && os.Getenv(curator.EnvJars) == "" {
		version = curator.Versions[0]
	}
	jars, err := curator.Jars(version)
	if errors.Is(err, curator.ErrMissing) && version != "" {
		if err = unpackCurator(ctx, version); err == nil {
			jars, err = curator.Jars(version)
		}
	}
	if err != nil && c.Version == "" && version != "" { // no network, or no tool
		log.Warn("the newest Curator cannot be had, so the one that is installed is used", "error", err)
		jars, err = curator.Jars("")
	}
	if err != nil {
		return err
	}
	jar, err := curator.Build(ctx, filepath.Dir(self), jars)
	if err != nil {
		return err
	}
	fmt.Fprintln(std.Out, jar)
	return nil
}

// unpackCurator gets the jars of a version from Debian's packages.
func unpackCurator(ctx context.Context, version string) error {
	dir, err := curator.Dir(version)
	if err != nil {
		return err
	}
	return debian.CopyJars(ctx, curator.Suites[version], curator.Package, curator.Files, dir)
}

type manifestsCmd struct {
	Print manifestsPrintCmd `cmd:"" help:"Print what an administrator applies so that labs can be made in a cluster."`
}

type manifestsPrintCmd struct {
	Hosts bool `help:"Print what a run applies for a server and for a client process instead."`
}

// Run prints manifests. It asks no cluster anything.
func (c manifestsPrintCmd) Run(std console.Streams) error {
	if !c.Hosts {
		return kubernetes.WriteAccess(std.Out)
	}
	return kubernetes.WriteHosts(std.Out, ensembles.HostSpec{Name: "zk1", Disk: true},
		ensembles.HostSpec{Name: "c1", Role: ensembles.Client})
}

type doctorCmd struct {
	Lab  string `default:"auto" enum:"${labs}" placeholder:"KIND" help:"Try labs of this kind: ${labs}."`
	JSON bool   `name:"json" help:"Print the findings as JSON."`
}

// Run looks at the machine. It ends with 0 if runs are possible, even if some faults are not, and with 7 otherwise.
func (c *doctorCmd) Run(ctx context.Context, std console.Streams, log *slog.Logger) error {
	d, err := doctor.Diagnose(ctx, c.Lab, run.Options{Log: log})
	if err != nil {
		return err
	}
	return tellDiagnosis(std.Out, d, c.JSON)
}

// tellDiagnosis prints the findings, how to cure each lack, and which faults this machine can do. It returns the exit
// code as an error.
func tellDiagnosis(w io.Writer, d doctor.Diagnosis, asJSON bool) (err error) {
	if asJSON {
		err = console.PrintJSON(w, d)
	} else {
		err = console.PrintTable(w, console.Diagnosis, d)
	}
	if err == nil && !d.CanRun() {
		if !asJSON {
			fmt.Fprintln(w, "Without a lab these work all the same: run --lab sim, run --connect, simulate, check, report, "+
				"serve, inspect.")
		}
		return verdictError{code: exitEnvironment, err: errSaid}
	}
	return err
}
