package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"locklab/chaos"
	"locklab/ensembles"
	"locklab/ensembles/labs"
	"locklab/ensembles/remote"
	"locklab/harness/scenario"
)

// An outside is an ensemble that locklab did not start, and the path of the stage's runs in it.
type outside struct {
	access *remote.Access
	found  *remote.Found
	path   *remote.Path
}

// lookOutside looks at the ensemble that the scenario names, and refuses what a run on it cannot do. It creates
// nothing.
func lookOutside(ctx context.Context, sc *scenario.Scenario) (*outside, error) {
	if err := openTxnLogs(sc); err != nil {
		return nil, err
	}
	access, err := sc.Target().Open()
	if err != nil {
		return nil, &scenario.InputError{Msg: err.Error()}
	}
	found, err := access.Inspect(ctx)
	if err != nil {
		return nil, err
	}
	if err := crowd(ctx, sc, access, found); err != nil {
		return nil, err
	}
	if all := sc.Elsewhere(found); all != nil {
		return nil, fmt.Errorf("%w: %s", chaos.ErrUnsupported, strings.Join(all, "; "))
	}
	return &outside{access: access, found: found}, nil
}

// crowd finds out by a trial how many connections the servers take from one address, up to as many as the run needs, if
// they do not tell. Pods have other addresses than the harness, so nothing is tried for them.
func crowd(ctx context.Context, sc *scenario.Scenario, access *remote.Access, found *remote.Found) error {
	if slices.Contains(found.Words, "conf") || sc.Lab == ensembles.LabKubernetes {
		return nil
	}
	needs := sc.Connections(found)
	taken := make([]int, len(access.Servers))
	g, gctx := errgroup.WithContext(ctx)
	for i, server := range access.Servers {
		g.Go(func() (err error) {
			if taken[i] = needs; server != found.Silent {
				taken[i], err = access.Crowd(gctx, server, needs)
			}
			return err
		})
	}
	err := g.Wait()
	if least := slices.Min(taken); err == nil && least < needs {
		found.MostConnections = max(least, 1)
	}
	return err
}

// Adopt gives the scenario the settings of the servers that it connects to, if it connects to any.
func Adopt(ctx context.Context, sc *scenario.Scenario) error {
	if sc.Connect == "" {
		return nil
	}
	access, err := sc.Target().Open()
	if err != nil {
		return &scenario.InputError{Msg: err.Error()}
	}
	found, err := access.Inspect(ctx)
	if err != nil {
		return err
	}
	return sc.Adopt(found)
}

// start makes the path of the stage's runs, and the lab of their clients: pods if the scenario says so, or else
// processes of this machine.
func (o *outside) start(ctx context.Context, in string, cfg ensembles.LabConfig) (*ensembles.Lab, error) {
	var err error
	if o.path, err = o.access.MakePath(ctx, ensembles.NewID(), cfg.Log); err != nil {
		return nil, err
	}
	elsewhere := &ensembles.Elsewhere{Ensemble: &o.access.Ensemble, Path: o.path.Name}
	lab, err := labs.StartElsewhere(ctx, in, elsewhere, cfg)
	if err != nil {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), CloseCap)
		defer cancel()
		return nil, errors.Join(err, o.path.Close(clean))
	}
	return lab, nil
}

// join waits until the agents reach the ensemble, and describes it for env.json.
func (s *Stage) join(ctx context.Context) error {
	begun := time.Now()
	var err error
	if s.ensemble, err = ensembles.Join(ctx, s.lab, s.outside.silent()); err != nil {
		return err
	}
	s.env.EnsembleReadyNs = int64(time.Since(begun))
	s.env.Lab, s.env.LabID = s.lab.Kind, s.lab.ID
	s.env.ZooKeeper = s.outside.found.Version
	return nil
}

// silent returns the index of the server that serves no clients; -1 if there is none.
func (o *outside) silent() int { return slices.Index(o.access.Servers, o.found.Silent) }

// root returns the znode below which the locks of the stage's runs are; empty for that of the ensemble.
func (s *Stage) root() string {
	if s.outside == nil {
		return ""
	}
	return s.outside.path.Name
}
