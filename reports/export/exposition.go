package export

import (
	"bytes"
	"strconv"
	"strings"
)

// An exposition is text in Prometheus' format, version 0.0.4. Samples of a metric follow its head without another one's
// between them.
type exposition struct{ bytes.Buffer }

// A label is a label of a sample.
type label struct{ name, value string }

// head begins a metric. kind is gauge, counter or summary.
func (x *exposition) head(name, kind, help string) {
	x.WriteString("# HELP " + name + " " + helpEscapes.Replace(help) + "\n# TYPE " + name + " " + kind + "\n")
}

// sample adds a sample.
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
