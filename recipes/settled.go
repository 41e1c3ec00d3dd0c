package recipes

import (
	"context"
	"errors"
)

// settled repeats what may be repeated until it is answered.
func settled[T any](ctx context.Context, f func(context.Context) (T, error)) (T, error) {
	for {
		v, err := f(ctx)
		if !errors.Is(err, ErrConnectionLoss) {
			return v, err
		}
	}
}
