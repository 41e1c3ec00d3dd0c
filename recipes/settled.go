package recipes

import (
	"context"
	"errors"

	"locklab/recipes/zksession"
)

// settled repeats a request that may be repeated, until it is answered.
func settled[T any](ctx context.Context, f func(context.Context) (T, error)) (T, error) {
	for {
		v, err := f(ctx)
		if !errors.Is(err, zksession.ErrConnectionLoss) {
			return v, err
		}
	}
}
