package result

import (
	"errors"
	"reflect"
	"slices"
	"strings"

	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/reports/measure"
	"locklab/reports/words"
)

// A Quantity is a number of a [Result]. The catalogue has all of them.
type Quantity struct {
	// Path is where the number is in result.json, such as latency.acquire.p99_ns. It is only a name if Of is set.
	Path string
	Unit Unit
	// Better says which way is better. Some numbers describe the load or the machine, and have no better way.
	Better Direction
	// Means says what the number is, where its name does not.
	Means string

	// Of returns the number, nil where the run does not say. If Of is nil, the number is at Path.
	Of func(*Result) *float64
	// Measure measures a number that has no field of its own in a [Result]: it is kept in [Result.Quantities], and
	// its Path is quantities. and its name. Measure returns nil where the run does not say; it is not asked about a
	// run without a measured window.
	Measure func(*rundir.Run, measure.Interval) *float64

	// Compared says how two sets of runs are compared by the number, which is in bench.txt then. The zero value says
	// that they are not.
	Compared Comparison
	// BenchUnit is the unit in bench.txt, where units also tell numbers apart; "" is made of the name.
	BenchUnit string

	// Tile, Row and Column are the number's labels: as a key number of a run's page, in the table of that page, and
	// above a column of a sweep's table. The number is not shown where its label is "".
	Tile, Row, Column string

	name   string
	fields []int // from a Result to the number

	_ struct{}
}

// A Unit is what a quantity counts or measures.
type Unit int

// The units.
const (
	Count Unit = iota
	Nanoseconds
	PerSecond
	Ratio // of one count to another
	Share // from 0 to 1
	Bytes
)

// A Direction is a way in which a number can change.
type Direction int

// The directions.
const (
	Neither Direction = iota
	Lower
	Higher
)

// A Comparison is how two sets of runs are compared by a quantity. The zero value says that they are not.
type Comparison struct {
	// Gates says that the verdict depends on the quantity. Quantities are many and depend on each other, and each one
	// that gates costs the others power.
	Gates bool
	// Difference says that the difference counts, not the ratio: a number that is 0 where all is well has no ratio.
	Difference bool
	// Tolerance is the loss that is accepted, relative to the base (or as a difference). A loss that is surely larger
	// fails, and one that is surely smaller passes.
	Tolerance float64
	// Resolution is the least difference that the quantity can show, in its own unit. A tolerance is never smaller.
	Resolution float64
}

// Quantities returns the catalogue, in the order in which quantities are shown.
func Quantities() []Quantity { return slices.Clone(catalogue) }

// Compared returns the quantities by which runs are compared.
func Compared() []Quantity {
	return slices.DeleteFunc(Quantities(), func(q Quantity) bool { return !q.compared() })
}

// Named returns the quantity of a name: the short one, or the path in result.json.
func Named(name string) (Quantity, bool) {
	short := scenario.MetricName(name)
	i := slices.IndexFunc(catalogue, func(q Quantity) bool { return q.Name() == short })
	if i < 0 {
		return Quantity{}, false
	}
	return catalogue[i], true
}

// Metrics returns the quantities as thresholds know them.
func Metrics() []scenario.Metric {
	all := make([]scenario.Metric, len(catalogue))
	for i, q := range catalogue {
		all[i] = scenario.Metric{Name: q.name, Duration: q.Unit == Nanoseconds, Share: q.Unit == Share}
	}
	return all
}

// Validate refuses what [scenario.Scenario.Validate] does, and thresholds on numbers that no result has. The error
// joins a [*scenario.InputError] for each.
func Validate(sc *scenario.Scenario) error {
	return errors.Join(sc.Validate(), sc.CheckMetrics(Metrics()))
}

// Name is the quantity's name wherever it is shown: its path without the parts that go without saying.
func (q Quantity) Name() string { return q.name }

// Value returns the number in a result; nil where the run does not say.
func (q Quantity) Value(r *Result) *float64 {
	switch {
	case q.Of != nil:
		return q.Of(r)
	case q.Measure != nil:
		return r.Quantities[q.key()]
	}
	return numberAt(r, q.fields)
}

// Sample returns the number by which a run is compared: its value or, if the run has from 50 to 99 samples, the largest
// of them for the 99th percentile. So a run that a slow machine cut short is not a run without a tail.
func (q Quantity) Sample(r *Result) *float64 {
	of, p99 := strings.CutSuffix(q.Path, "p99_ns")
	if !p99 {
		return q.Value(r)
	}
	if n, counted := q.samples(r); counted && measure.EnoughSamples(98, n) && !measure.EnoughSamples(99, n) {
		q, _ = Named(of + "max_ns")
	}
	return q.Value(r)
}

// Bench is the quantity's unit in bench.txt, which is in the Go benchmark format: its readers bring ns to seconds by
// themselves. It is "" for a quantity that is not there.
func (q Quantity) Bench() string {
	switch {
	case !q.compared():
		return ""
	case q.BenchUnit != "":
		return q.BenchUnit
	case q.Unit == Nanoseconds:
		return strings.ReplaceAll(q.name, ".", "-") + "-ns"
	}
	return strings.ReplaceAll(q.name, ".", "-")
}

// Show writes a number of this quantity for a person.
func (q Quantity) Show(v *float64) string {
	switch {
	case v == nil:
		return words.Absent
	case q.Unit == Nanoseconds:
		return words.Duration(int64(*v))
	case q.Unit == Count || q.Unit == Bytes:
		return words.Grouped(int64(*v))
	}
	return words.Digits3(*v)
}

func (q Quantity) compared() bool { return q.Compared != Comparison{} }

func (q Quantity) key() string { return strings.TrimPrefix(q.Path, "quantities.") }

// samples returns how many samples the distribution has that the quantity belongs to. False if it belongs to none.
func (q Quantity) samples(r *Result) (int64, bool) {
	last := strings.LastIndexByte(q.name, '.')
	if last < 0 {
		return 0, false
	}
	count, known := Named(q.name[:last] + ".count")
	if !known {
		return 0, false
	}
	n := count.Value(r)
	if n == nil {
		return 0, false
	}
	return int64(*n), true
}

// named gives the quantities their names and finds their fields. It panics if a path does not lead to a number, which
// is a mistake in the catalogue.
func named(all []Quantity) []Quantity {
	for i := range all {
		q := &all[i]
		q.name = scenario.MetricName(q.Path)
		if q.Of == nil && q.Measure == nil {
			q.fields = fieldsAt(reflect.TypeFor[Result](), q.Path)
		}
	}
	return all
}

// fieldsAt returns the indices of the fields from t down to the number at a path of JSON names.
func fieldsAt(t reflect.Type, path string) []int {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if path == "" && t.ConvertibleTo(reflect.TypeFor[float64]()) {
		return nil
	}
	name, rest, _ := strings.Cut(path, ".")
	for i := range t.NumField() {
		if tag, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); tag == name {
			return append([]int{i}, fieldsAt(t.Field(i).Type, rest)...)
		}
	}
	panic("result: the catalogue has " + path + ", which is no number of " + t.String())
}

// numberAt returns the number that some fields lead to; nil if it is null.
func numberAt(r *Result, fields []int) *float64 {
	v := reflect.ValueOf(r).Elem()
	for _, i := range fields {
		if v = v.Field(i); v.Kind() != reflect.Pointer {
			continue
		}
		if v.IsNil() {
			return nil
		}
		v = v.Elem()
	}
	n := v.Convert(reflect.TypeFor[float64]()).Float()
	return &n
}
