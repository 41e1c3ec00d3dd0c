//go:build !nolab

package labs

import (
	"context"

	"locklab/ensembles"
	"locklab/ensembles/docker"
	"locklab/ensembles/kubernetes"
)

// Two kinds of labs are made by services whose clients are hundreds of packages. Tests that start no lab can be built
// without them, by the tag nolab.

// engine returns the kind of lab that a Docker engine makes.
func engine() []ensembles.Kind { return []ensembles.Kind{docker.Kind{}} }

// cluster returns the kind of lab that a cluster makes. With elsewhere, its hosts work on somebody's ensemble.
func cluster(elsewhere *ensembles.Elsewhere) []ensembles.Kind {
	return []ensembles.Kind{kubernetes.Kind{Elsewhere: elsewhere}}
}

// absent are the errors of a machine on which no service answers.
var absent = []error{docker.ErrNoEngine, docker.ErrNoImage, kubernetes.ErrUnavailable}

// CheckImage returns an error unless a Docker engine answers that has the image of labs.
func CheckImage(ctx context.Context) error {
	_, err := docker.FindImage(ctx)
	return err
}
