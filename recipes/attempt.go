package recipes

import "context"

type attemptKey struct{}

// OnAttempt returns a context by which an acquire tells what its znodes are to be known by, so that whoever reads the
// service's own record can find them, whatever became of the answers. Of each attempt f is called before the service
// is asked for anything, in the acquire's own goroutine: with the directory and with what the names of all znodes
// begin that the attempt may create there, and no others. Recipes whose znodes have no names of their own,
// [NaiveMutex] and [ZKLock], call nothing.
func OnAttempt(ctx context.Context, f func(dir, prefix string)) context.Context {
	return context.WithValue(ctx, attemptKey{}, f)
}

func tellAttempt(ctx context.Context, dir, prefix string) {
	if f, ok := ctx.Value(attemptKey{}).(func(dir, prefix string)); ok {
		f(dir, prefix)
	}
}
