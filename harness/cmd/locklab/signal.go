package main

import (
	"context"
	"os"
	"os/signal"
	"reflect"
	"syscall"

	"github.com/alecthomas/kong"

	"locklab/harness/run"
)

// interruptible returns a context that the first SIGINT or SIGTERM cancels. The second ends the process at
// once; the agents' leases then remove what is left of a lab.
func interruptible() (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		cancel(run.ErrInterrupted)
		<-signals
		os.Exit(exitInterrupted)
	}()
	return ctx, func() { cancel(nil) }
}

// untilInterrupted runs a command. A command that takes a context ends by itself when the context is cancelled, and
// puts right first what it changed. Others read files and draw, so nothing is lost if they are left at once.
func untilInterrupted(ctx context.Context, selected *kong.Node, command func() error) error {
	if takesContext(selected) {
		return command()
	}
	type end struct {
		err   error
		panic any
	}
	done := make(chan end, 1)
	go func() {
		var e end
		defer func() {
			switch r := recover().(type) {
			case nil, exit:
				e.panic = r
			default:
				e.panic = defectOf(r)
			}
			done <- e
		}()
		e.err = command()
	}()
	select {
	case e := <-done:
		if e.panic != nil {
			panic(e.panic)
		}
		return e.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// takesContext reports whether the command's Run has a context.
func takesContext(selected *kong.Node) bool {
	method := selected.Target.Addr().MethodByName("Run").Type()
	for in := range method.Ins() {
		if in == reflect.TypeFor[context.Context]() {
			return true
		}
	}
	return false
}
