package export

import (
	"bytes"
	"cmp"
	"io"
	"slices"
	"strconv"
	"strings"

	"locklab/harness/check/evidence"
	"locklab/reports/measure"
	"locklab/reports/result"
	"locklab/reports/words"
)

var prometheusFormat = Format{Name: "prometheus", Has: "all numbers, and what each check found",
	For:    "Prometheus (text format), for example by node_exporter’s textfile collector",
	Reader: "promtool", write: writePrometheus}

// writePrometheus writes the numbers of a run. Its latencies are summaries, and everything else is a gauge, because a
// run that is over counts no further. Base units are seconds and bytes. A number that was not measured is left out.
func writePrometheus(w io.Writer, in result.Input) error {
	r := &in.Result
	var x exposition
	run := label{"scenario", r.Scenario}
	x.metric("locklab_run_info", "gauge", "What was run.", 1, run, label{"recipe", r.Recipe}, label{"guard", r.Guard},
		label{"lab", r.Lab}, label{"zookeeper", r.ZooKeeper}, label{"storage", r.Storage},
		label{"seed", strconv.FormatUint(r.Seed, 10)}, label{"outcome", string(r.Outcome)})
	x.metric("locklab_run_partial", "gauge", "Whether the run broke off before its planned end.", one(r.Partial), run)
	x.head("locklab_check_as_expected", "gauge", "Whether a check came out as the scenario expects. "+
		"A check that could not judge, or that does not apply, has no sample.")
	for _, c := range r.Checks {
		if !c.Idle() && c.Outcome != evidence.Unknown {
			x.sample("locklab_check_as_expected", one(c.Outcome == evidence.Pass), run, label{"check", c.Name},
				label{"expected", string(c.Expected)}, label{"found", string(c.Result)})
		}
	}
	writeLatencies(&x, r, run)
	for _, q := range result.Quantities() {
		v := q.Value(r)
		if v == nil || strings.HasPrefix(q.Path, "latency.") {
			continue
		}
		x.metric(gaugeName(q), "gauge", words.Sentence(words.Upper(strings.TrimPrefix(strings.TrimSuffix(
			q.Row+", "+q.Means, ", "), ", ")))+" It is "+q.Path+" in result.json.", inBaseUnit(q, *v), run)
	}
	_, err := w.Write(x.Bytes())
	return err
}

// writeLatencies writes a summary for the phases of an acquisition.
func writeLatencies(x *exposition, r *result.Result, run label) {
	const name = "locklab_latency_seconds"
	x.head(name, "summary", "Latencies in the measured window, by phase.")
	parts := []string{measure.AcquireRead, measure.AcquireWrite, measure.HoldResource}
	for _, phase := range slices.Concat(measure.Phases[:], parts) {
		l := r.Latency.ByPhase(phase)
		if l == nil || l.Count == 0 {
			continue
		}
		labels := []label{run, {"phase", phase}}
		for _, p := range []struct {
			quantile string
			ns       *int64
		}{{"0.5", l.P50Ns}, {"0.9", l.P90Ns}, {"0.99", l.P99Ns}, {"0.999", l.P999Ns}, {"1", l.MaxNs}} {
			if p.ns != nil {
				x.sample(name, float64(*p.ns)/1e9, append(labels, label{"quantile", p.quantile})...)
			}
		}
		if l.MeanNs != nil {
			x.sample(name+"_sum", float64(*l.MeanNs)*float64(l.Count)/1e9, labels...)
		}
		x.sample(name+"_count", float64(l.Count), labels...)
	}
}

// gaugeName is the name of a quantity by Prometheus' rules: with its base unit at the end, and without the endings that
// those of histograms and counters have.
func gaugeName(q result.Quantity) string {
	name := strings.ReplaceAll(q.Name(), ".", "_")
	switch {
	case q.Unit == result.Nanoseconds:
		name += "_seconds"
	case strings.HasSuffix(name, "_per_s"):
		name += "econd"
	}
	return "locklab_" + cmp.Or(strings.TrimSuffix(name, "_count"), name)
}

// inBaseUnit converts a quantity's number to Prometheus' base unit.
func inBaseUnit(q result.Quantity, v float64) float64 {
	if q.Unit == result.Nanoseconds {
		return v / 1e9
	}
	return v
}

// one is 1 for true and 0 for false.
func one(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// An exposition is text in Prometheus' format, version 0.0.4. Samples of a metric follow its head without another one's
// between them.
type exposition struct{ bytes.Buffer }

// A label is a label of a sample.
type label struct{ name, value string }

// head begins a metric. kind is gauge, counter or summary.
func (x *exposition) head(name, kind, help string) {
	x.WriteString("# HELP " + name + " " + helpEscapes.Replace(help) + "\n# TYPE " + name + " " + kind + "\n")
}

func (x *exposition) sample(name string, v float64, labels ...label) {
	x.WriteString(name)
	for i, l := range labels {
		x.WriteString(map[bool]string{true: "{", false: ","}[i == 0] + l.name + `="` + labelEscapes.Replace(l.value) + `"`)
	}
	if len(labels) > 0 {
		x.WriteByte('}')
	}
	x.WriteString(" " + strconv.FormatFloat(v, 'g', -1, 64) + "\n")
}

// metric adds a metric with a single sample.
func (x *exposition) metric(name, kind, help string, v float64, labels ...label) {
	x.head(name, kind, help)
	x.sample(name, v, labels...)
}

// The characters that would end a help text or the value of a label, and how the format writes them.
var (
	helpEscapes  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	labelEscapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
)
