package reports

import (
	"reflect"
	"slices"
	"strings"
)

// A Metric is a number of a Result that a threshold can be set on.
type Metric struct {
	// Name is its path in result.json without latency., throughput., safety. and
	// _ns: acquire.p99, acquired_per_s, overlaps, fairness.jain.
	Name     string
	Duration bool // in nanoseconds
	Share    bool // from 0 to 1

	fields []int // from the Result down
}

// allMetrics are those of a Result, in the order of its fields. They are read off its
// type, so that no list of names can fall behind it.
var allMetrics = metricsOf(reflect.TypeFor[Result](), "", nil)

// Metrics returns every number of a Result that was measured and is not in a list. What the run was
// told to be is none: a field says so by the tag metric:"setting", and one that is from 0 to 1 by metric:"share".
func Metrics() []Metric { return slices.Clone(allMetrics) }

func metricNamed(name string) (Metric, bool) {
	i := slices.IndexFunc(allMetrics, func(m Metric) bool { return m.Name == name })
	if i < 0 {
		return Metric{}, false
	}
	return allMetrics[i], true
}

func metricsOf(t reflect.Type, path string, fields []int) []Metric {
	var all []Metric
	for i := range t.NumField() {
		f := t.Field(i)
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		kind := f.Tag.Get("metric")
		if !f.IsExported() || tag == "" || kind == "setting" {
			continue
		}
		name, at := path+tag, append(slices.Clone(fields), i)
		ft := f.Type
		if ft.Kind() == reflect.Pointer {
			ft = ft.Elem()
		}
		switch {
		case ft.Kind() == reflect.Struct:
			all = append(all, metricsOf(ft, name+".", at)...)
		case ft.ConvertibleTo(reflect.TypeFor[float64]()):
			short, isDuration := strings.CutSuffix(name, "_ns")
			for _, block := range [...]string{"latency.", "throughput.", "safety."} {
				short = strings.TrimPrefix(short, block)
			}
			all = append(all, Metric{short, isDuration, kind == "share", at})
		}
	}
	return all
}

// of returns the metric's number in a result; false where it is null.
func (m Metric) of(r *Result) (float64, bool) { return numberAt(r, m.fields) }

// samples returns the count that stands beside the metric: of the distribution whose
// percentile it is. False if there is none.
func (m Metric) samples(r *Result) (int64, bool) {
	beside := m.fields[:len(m.fields)-1]
	for _, o := range allMetrics {
		if slices.Equal(o.fields[:len(o.fields)-1], beside) && strings.HasSuffix(o.Name, ".count") {
			n, ok := o.of(r)
			return int64(n), ok
		}
	}
	return 0, false
}

func numberAt(r *Result, fields []int) (float64, bool) {
	v := reflect.ValueOf(r).Elem()
	for _, i := range fields {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return 0, false
			}
			v = v.Elem()
		}
		v = v.Field(i)
	}
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return 0, false
		}
		v = v.Elem()
	}
	return v.Convert(reflect.TypeFor[float64]()).Float(), true
}
