package labs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"locklab/ensembles"
	"locklab/ensembles/netns"
	"locklab/ensembles/process"
)

// Kinds returns the kinds of labs, in the order in which [ensembles.LabAuto] tries those of this machine. It never
// chooses a cluster, which others may use too.
func Kinds() []ensembles.Kind { return append(ofThisMachine(), cluster(nil)...) }

func ofThisMachine() []ensembles.Kind {
	return append(engine(), netns.Kind{}, process.Kind{})
}

// unavailable are the errors of a machine on which labs of a kind cannot be made at all.
var unavailable = append([]error{netns.ErrUnavailable, process.ErrUnavailable}, absent...)

// Unavailable reports whether an error says that a kind of lab cannot be made on this machine.
func Unavailable(err error) bool {
	return slices.ContainsFunc(unavailable, func(u error) bool { return errors.Is(err, u) })
}

// Start makes a lab of the named kind. With [ensembles.LabAuto], it logs which kind it uses unless that is the first,
// and why no kind before it can be used here.
func Start(ctx context.Context, name string, cfg ensembles.LabConfig) (*ensembles.Lab, error) {
	kinds := Kinds()
	if name == ensembles.LabAuto {
		kinds = ofThisMachine()
	}
	var errs []error
	for _, k := range kinds {
		if name != ensembles.LabAuto && name != k.Name() {
			continue
		}
		lab, err := ensembles.StartLab(ctx, k, cfg)
		if name != ensembles.LabAuto || err != nil && (ctx.Err() != nil || !Unavailable(err)) {
			return lab, err
		}
		if err == nil {
			if len(errs) > 0 {
				cfg.Log.Info("chose the kind of lab", "lab", k.Name(), "because", errors.Join(errs...))
			}
			return lab, nil
		}
		errs = append(errs, fmt.Errorf("%s: %w", k.Name(), err))
	}
	if len(errs) == 0 {
		return nil, fmt.Errorf("no kind of lab is called %q; use one of %s", name, strings.Join(ensembles.LabNames(), ", "))
	}
	return nil, errors.Join(errs...)
}

// StartElsewhere makes a lab of clients alone, which work on somebody's ensemble: pods if the kind says so, or else
// processes of this machine.
func StartElsewhere(
	ctx context.Context, name string, elsewhere *ensembles.Elsewhere, cfg ensembles.LabConfig,
) (*ensembles.Lab, error) {
	kinds := []ensembles.Kind{process.Kind{Elsewhere: elsewhere}}
	if name == ensembles.LabKubernetes {
		kinds = cluster(elsewhere)
	}
	if len(kinds) == 0 {
		return nil, fmt.Errorf("this binary cannot make a lab of kind %s", name)
	}
	return ensembles.StartLab(ctx, kinds[0], cfg)
}

// Clean removes what killed runs have left in labs of every kind. It warns of a kind of which this machine can make no
// labs now.
func Clean(ctx context.Context, log *slog.Logger) error {
	var errs []error
	for _, k := range Kinds() {
		switch err := k.Clean(ctx, log); {
		case err == nil:
		case Unavailable(err) && ctx.Err() == nil:
			log.Warn("leftovers were not looked for", "lab", k.Name(), "because", err)
		default:
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
