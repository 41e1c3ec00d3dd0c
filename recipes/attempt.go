package recipes

import "context"

type attemptKey struct{}

// OnAttempt returns a context with which an acquire reports the names by which its znodes can be recognised, so that
// a reader of the service's own record can find them whether or not the client got an answer. The acquire calls f in
// its own goroutine for each attempt, before it sends any request. f gets the directory and a prefix. All znodes that
// the attempt may create there have names with that prefix, and no other znodes do. Recipes whose znodes have no
// names of their own, [NaiveMutex] and [ZKLock], do not call f.
func OnAttempt(ctx context.Context, f func(dir, prefix string)) context.Context {
	return context.WithValue(ctx, attemptKey{}, f)
}

func tellAttempt(ctx context.Context, dir, prefix string) {
	if f, ok := ctx.Value(attemptKey{}).(func(dir, prefix string)); ok {
		f(dir, prefix)
	}
}
