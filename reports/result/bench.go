package result

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/perf/benchfmt"
)

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
