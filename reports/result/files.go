package result

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/perf/benchfmt"

	"locklab/harness/rundir"
	"locklab/harness/untrusted"
	"locklab/reports/measure"
)

// The comments at the head of the logs, by which a reader can tell them apart.
const (
	LatenciesComment = "Logged by locklab: ns, one interval per phase; times since the run's base"
	HiccupsComment   = "Logged by locklab: hiccups in ns, one interval per process; times since the run's base"
)

// WriteHlog writes the measured window's latencies in HdrHistogram's log format: one interval per phase, tagged with
// its name, in nanoseconds, its maximum in milliseconds. Times are in seconds since the run's base and not since the
// epoch, because a history has no others. A phase without samples has no line.
func WriteHlog(w io.Writer, in Input) error {
	phases := slices.DeleteFunc(slices.Clone(measure.Phases[:]), func(phase string) bool {
		return in.Latencies[phase].Hist.TotalCount() == 0
	})
	return writeHlog(w, LatenciesComment, phases, in.Latencies, in.Window)
}

// WriteHiccups writes the hiccups of the measured window in the same format: one interval per client process, tagged
// with its name. The lengths of the intervals add up to the time that the processes were watched. The harness has an
// interval only if no client process has one. Hiccups that cannot be read are left out; [NewInput] warns of them.
func WriteHiccups(w io.Writer, in Input) error {
	processes := slices.Sorted(maps.Keys(in.hiccups))
	if len(processes) > 1 {
		processes = slices.DeleteFunc(processes, func(process string) bool { return process == rundir.HarnessHost })
	}
	return writeHlog(w, HiccupsComment, processes, in.hiccups, in.Window)
}

// writeHlog writes a log with an interval of a window for each name, which is its tag. A comma or a line break in a
// tag, as the name of a process in a foreign history may have, would make other fields of the line.
func writeHlog(w io.Writer, comment string, names []string, of map[string]*measure.Recording,
	win measure.Interval) error {
	log := hdrhistogram.NewHistogramLogWriter(w)
	if err := cmp.Or(log.OutputLogFormatVersion(), log.OutputComment(comment), log.OutputLegend()); err != nil {
		return fmt.Errorf("write head: %w", err)
	}
	for _, name := range names {
		h := *of[name].Hist // a copy, because a picture may be drawn of the recording just now
		h.SetTag(strings.ReplaceAll(untrusted.Line(name), ",", ";"))
		h.SetStartTimeMs(win.From / 1e6)
		h.SetEndTimeMs(win.Until / 1e6)
		if err := log.OutputIntervalHistogram(&h); err != nil {
			return fmt.Errorf("write interval of %s: %w", name, err)
		}
	}
	return nil
}

// WriteBench writes a run in the Go benchmark format, for benchstat and other readers of it. A run is one line,
// because it is one sample, however many operations it had. A quantity that was not measured has no value there, and
// a run that acquired nothing has no line.
//
// A duration is the first value, because some readers know only one and take it for the time of an operation. Unit
// lines name the units of which more is better; readers take less for better in the others, or say neither.
//
// Configuration lines say what was run. They do not have the seed, so that benchstat puts runs of one configuration
// into one row, and `benchstat -col recipe` compares two recipes.
func WriteBench(w io.Writer, r Result) error {
	if r.Operations.Acquired <= 0 {
		return nil
	}
	b := benchfmt.Result{Name: benchfmt.Name("Lock/" + benchWord(r.Scenario)), Iters: int(r.Operations.Acquired)}
	for _, c := range []struct{ key, value string }{
		{"recipe", r.Recipe}, {"guard", r.Guard}, {"lab", r.Lab}, {"zookeeper", r.ZooKeeper}, {"storage", r.Storage},
		{"servers", strconv.Itoa(r.Servers)}, {"clients", strconv.Itoa(r.Clients)},
		{"client-processes", strconv.Itoa(r.ClientProcesses)}, {"locks", strconv.Itoa(r.Locks)},
	} {
		b.Config = append(b.Config, benchfmt.Config{Key: c.key, Value: []byte(strings.Join(strings.Fields(c.value), " ")),
			File: true})
	}
	var durations, others []benchfmt.Value
	var records []benchfmt.Record
	for _, q := range Compared() {
		v := q.Value(&r)
		if v == nil {
			continue
		}
		if q.Better == Higher {
			records = append(records, &benchfmt.UnitMetadata{OrigUnit: q.Bench(),
				UnitMetadataKey: benchfmt.UnitMetadataKey{Unit: q.Bench(), Key: "better"}, Value: "higher"})
		}
		if value := (benchfmt.Value{Value: *v, Unit: q.Bench()}); q.Unit == Nanoseconds {
			durations = append(durations, value)
		} else {
			others = append(others, value)
		}
	}
	if b.Values = slices.Concat(durations, others); len(b.Values) == 0 {
		return nil
	}
	out := benchfmt.NewWriter(w)
	for _, record := range append(records, &b) {
		if err := out.Write(record); err != nil {
			return fmt.Errorf("write benchmark: %w", err)
		}
	}
	return nil
}

// benchWord makes a name a single word.
func benchWord(s string) string {
	if s = strings.Join(strings.Fields(s), "_"); s == "" {
		return "unnamed"
	}
	return s
}
