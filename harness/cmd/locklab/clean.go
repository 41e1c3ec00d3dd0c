package main

import (
	"context"
	"errors"
	"log/slog"

	"locklab/ensembles/labs"
	"locklab/ensembles/process"
	"locklab/ensembles/remote"
	"locklab/harness/scenario"
)

type cleanCmd struct {
	Connect string `placeholder:"SERVERS" help:"${clean_connect_help}"`
	way
}

// A way says how to reach an ensemble that is named elsewhere on the command line.
type way struct {
	CA   string `name:"connect-ca" placeholder:"FILE" predictor:"file" help:"${clean_way_help}"`
	Cert string `name:"connect-cert" placeholder:"FILE" predictor:"file" help:"${clean_way_help}"`
	Key  string `name:"connect-key" placeholder:"FILE" predictor:"file" help:"${clean_way_help}"`
	Auth string `name:"connect-auth" placeholder:"WHERE" help:"${clean_way_help}"`
}

// target returns the ensemble with this connection string.
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

const (
	cleanConnectHelp = "Remove what killed runs left in this ensemble (host:port,…, perhaps with a /chroot) instead. " +
		"Only paths that bear the mark of a run are removed, and only if no session uses them."
	cleanWayHelp = "How to reach that ensemble, as for locklab run."
)

func (cleanCmd) exits() string { return exitCodes("nothing is left", exitEnvironment) }

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
