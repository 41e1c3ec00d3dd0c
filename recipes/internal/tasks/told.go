package tasks

import "context"

type toldKey struct{}

// Tell returns a context which says that somebody has been told of a failure that goes on, so that it need not be
// logged again.
func Tell(ctx context.Context) context.Context { return context.WithValue(ctx, toldKey{}, true) }

// Told reports whether a context says that.
func Told(ctx context.Context) bool { return ctx.Value(toldKey{}) != nil }
