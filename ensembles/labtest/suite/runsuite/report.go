package main

import (
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"locklab/ensembles/labtest/suite"
)

// A report gathers what the tests of all packages came to, and writes it to out. Several goroutines may add to it.
type report struct {
	out io.Writer

	mu             sync.Mutex
	passed, broken int
	// red has the packages of which a test has failed. A package that fails without one counts as a failed test.
	red map[string]bool
	// skipped has the tests that were skipped, by reason.
	skipped map[string][]string
	// output is what a test that has not ended, or a package, has printed, by package and test.
	output map[[2]string]*strings.Builder
}

func (r *report) take(e event)      { r.add(e, "") }
func (r *report) takeRaced(e event) { r.add(e, "\t(race)") }

// add adds an event. A package's line says how its tests were run.
func (r *report) add(e event, how string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.output == nil {
		r.output, r.skipped, r.red = map[[2]string]*strings.Builder{}, map[string][]string{}, map[string]bool{}
	}
	of := [2]string{e.Package + how, e.Test}
	switch e.Action {
	case "output":
		if r.output[of] == nil {
			r.output[of] = &strings.Builder{}
		}
		r.output[of].WriteString(e.Output)
		return
	case "pass", "fail", "skip":
	default:
		return
	}
	var said string
	if b := r.output[of]; b != nil {
		said = b.String()
		delete(r.output, of)
	}
	switch {
	case e.Test == "" && e.Action == "fail":
		// A test that had not ended when its process did has printed what explains it.
		for key, b := range r.output {
			if key[0] == of[0] {
				said += b.String()
				delete(r.output, key)
			}
		}
		if !r.red[of[0]] {
			r.broken++
		}
		fmt.Fprintf(r.out, "%sFAIL\t%s\t%.3fs%s\n", said, e.Package, e.Elapsed, how)
	case e.Test == "" && e.Action == "pass":
		fmt.Fprintf(r.out, "ok  \t%s\t%.3fs%s\n", e.Package, e.Elapsed, how)
	case e.Test == "":
	case e.Action == "fail":
		r.broken++
		r.red[of[0]] = true
		fmt.Fprint(r.out, said)
	case e.Action == "pass":
		r.passed++
	case how == "": // with the race detector only short tests run, and those are skipped on purpose
		why := reason(said)
		r.skipped[why] = append(r.skipped[why], e.Test)
	}
}

// where matches the place that precedes a test's message.
var where = regexp.MustCompile(`^ *[^ ]+\.go:[0-9]+: `)

// reason returns why a test was skipped, from what it printed.
func reason(said string) string {
	last := "no reason given"
	for line := range strings.Lines(said) {
		if where.MatchString(line) {
			last = strings.TrimSpace(where.ReplaceAllString(line, ""))
		}
	}
	if strings.HasPrefix(last, suite.NightlyPrefix) {
		return nightly
	}
	return last
}

// nightly is the reason of all tests that make test-all runs, too.
const nightly = "nightly (make test-all)"

func (r *report) failed() bool { return r.broken > 0 || r.passed == 0 }

// print writes how many tests passed, failed and were skipped, and why. Each test that
// was skipped for another reason than that it is nightly is named.
func (r *report) print() {
	r.mu.Lock()
	defer r.mu.Unlock()
	total := 0
	var whys []string
	for _, why := range slices.Sorted(maps.Keys(r.skipped)) {
		tests := r.skipped[why]
		total += len(tests)
		if why != nightly {
			fmt.Fprintf(r.out, "skipped: %s: %s\n", strings.Join(tests, ", "), why)
		}
		whys = append(whys, fmt.Sprintf("%d %s", len(tests), why))
	}
	fmt.Fprintf(r.out, "%d passed, %d failed, %d skipped\n", r.passed, r.broken, total)
	if total == 0 {
		whys = []string{"none"}
	}
	fmt.Fprintf(r.out, "skipped: %s\n", strings.Join(whys, "; "))
}
