// Command runsuite vets the code and runs the tests for `make test`. Those that start labs and measure, or look whether
// a lab has changed anything on the machine, run one package at a time; then the others that start labs run two
// packages at a time. Those without labs run beside them, at a lower priority, or after them.
//
// In flow: lists of packages, as flags. Out flow: what failed, how long each package took, and, in the last line, how
// many tests were skipped and why. It fails if a test fails.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sync/semaphore"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s := runner{report: report{out: os.Stdout}}
	alone := flag.String("alone", "", "packages whose tests measure, or look at the whole machine")
	labs := flag.String("labs", "", "packages whose tests start labs and do neither")
	plain := flag.String("plain", "", "packages whose tests do neither")
	raced := flag.String("race", "", "packages of both kinds whose short tests run with the race detector")
	flag.BoolVar(&s.after, "after", false, "run what has no lab after the labs, because it would slow their servers down")
	flag.IntVar(&s.parallel, "parallel", 3, "how many tests of one package with labs run at once")
	flag.Parse()
	s.alone, s.labs = strings.Fields(*alone), strings.Fields(*labs)
	s.plain, s.raced = strings.Fields(*plain), strings.Fields(*raced)
	err := s.run(ctx)
	if s.report.print(); err != nil {
		fmt.Fprintln(os.Stderr, "runsuite:", err)
		os.Exit(1)
	}
	if s.report.failed() {
		os.Exit(1)
	}
}

// A runner is what one call of the program runs.
type runner struct {
	alone, labs, plain, raced []string
	after                     bool
	parallel                  int

	report report
}

// together is how many packages with labs run at once, unless they have to be alone. Most of their tests wait.
const together = 2

// run runs everything, and returns an error for what is not a test's failure.
func (s *runner) run(ctx context.Context) error {
	labs, err := packages(ctx, s.alone, s.labs)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "locklab-suite-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	try := func(f func() error) {
		running.Go(func() {
			if err := f(); err != nil {
				cancel(err)
			}
		})
	}
	// Linking a test's binary takes a core for seconds, so the next one is linked while labs are waited for.
	built := make(chan lab, len(labs))
	try(func() error {
		defer close(built)
		for _, l := range labs {
			if err := l.build(ctx, dir); err != nil {
				return err
			}
			built <- l
		}
		return nil
	})
	ended := make(chan struct{}) // closed when the tests with labs have ended
	try(func() error {
		defer close(ended)
		room := semaphore.NewWeighted(together)
		for l := range built {
			share := int64(1)
			if l.alone {
				share = together
			}
			if err := room.Acquire(ctx, share); err != nil {
				return nil // why is known
			}
			try(func() error {
				defer room.Release(share)
				return l.run(ctx, s.parallel, s.report.take)
			})
		}
		return room.Acquire(ctx, together)
	})
	try(func() error {
		if s.after {
			<-ended
		}
		if err := vet(ctx); err != nil {
			return err
		}
		if err := follow(asReleased(goTest(ctx, s.plain...)), leisure, s.report.take); err != nil {
			return err
		}
		// The race detector needs cgo, and a go-zookeeper without a race of its own.
		raced := append([]string{"-race", "-short", "-tags=nolab", "-modfile=bin/race/go.mod"}, s.raced...)
		return follow(goTest(ctx, raced...), leisure, s.report.takeRaced)
	})
	running.Wait()
	return context.Cause(ctx)
}
