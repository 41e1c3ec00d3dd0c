//go:build nolab

package labs

import (
	"context"
	"errors"

	"locklab/ensembles"
)

func engine() []ensembles.Kind { return nil }

func cluster(*ensembles.Elsewhere) []ensembles.Kind { return nil }

var absent []error

// CheckImage returns an error: there is no client of Docker in this binary.
func CheckImage(context.Context) error { return errors.New("built without a client of Docker") }
