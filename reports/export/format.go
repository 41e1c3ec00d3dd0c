package export

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"locklab/harness/fail"
	"locklab/harness/history"
	"locklab/reports/result"
)

// A Format is one in which a run can be written.
type Format struct {
	Name string
	Has  string // what it has of a run
	For  string // who reads it
	// Reader is what reads it in the tests.
	Reader string
	// Unjudged says that the format has nothing but what was recorded, so the run need not be judged.
	Unjudged bool

	write func(io.Writer, result.Input) error
}

// Formats returns all formats.
func Formats() []Format {
	return []Format{
		{Name: "edn", Has: "the history", For: "Jepsen’s tools", Reader: "Clojure", Unjudged: true,
			write: func(w io.Writer, in result.Input) error { return writeEDN(w, in.Events) }},
		{Name: "jsonl", Has: "the history, an event per line", For: "`jq`", Reader: "Go’s encoding/json", Unjudged: true,
			write: func(w io.Writer, in result.Input) error { return history.WriteJSONL(w, in.Events) }},
		traceFormat,
		csvFormat,
		prometheusFormat,
		{Name: "bench", Has: "the numbers that runs are compared by, a line for the run",
			For: "`benchstat` (Go benchmark format)", Reader: "golang.org/x/perf/benchfmt",
			write: func(w io.Writer, in result.Input) error { return result.WriteBench(w, in.Result) }},
		{Name: "hlog", Has: "the latencies of each phase, as distributions",
			For: "HdrHistogram’s tools (log version 2)", Reader: "hdrhistogram-go",
			write: result.WriteHlog},
		junitFormat,
		markdownFormat,
	}
}

// Names returns the names of all formats.
func Names() (names []string) {
	for _, f := range Formats() {
		names = append(names, f.Name)
	}
	return names
}

// ErrFormat says that there is no such format.
var ErrFormat = fail.Input.New("unknown format")

// Named returns the format of that name. The error wraps [ErrFormat].
func Named(name string) (Format, error) {
	for _, f := range Formats() {
		if f.Name == name {
			return f, nil
		}
	}
	return Format{}, fmt.Errorf("%w %q; there are %s", ErrFormat, name, strings.Join(Names(), ", "))
}

// Write writes a run. Where the format is [Format.Unjudged], the run alone is enough.
func (f Format) Write(w io.Writer, in result.Input) error {
	b := bufio.NewWriter(w)
	if err := f.write(b, in); err != nil {
		return fmt.Errorf("write %s: %w", f.Name, err)
	}
	return b.Flush()
}
