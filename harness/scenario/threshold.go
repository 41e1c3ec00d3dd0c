package scenario

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Threshold is a limit on a number of the result: "acquire.p99 < 50ms". The run
// misses it unless the comparison holds. Thresholds are comparable.
type Threshold struct {
	// Metric is the number's path in result.json without latency., throughput.,
	// safety. and _ns. Which there are is not known here: see CheckMetrics.
	Metric string
	Op     string  // one of < <= > >= == !=
	Limit  float64 // in nanoseconds where Duration is set; finite and not negative
	// Duration says that the limit was written with a unit of time.
	Duration bool
}

// The bounds of thresholds: how many a scenario may have, and the largest limit that
// is a number, which a float64 still holds to the unit.
const (
	maxThresholds = 100
	maxLimit      = 1e15
)

const thresholdHint = "a name, an operator and a limit, such as acquire.p99 < 50ms"

var (
	comparisons = []string{"<", "<=", ">", ">=", "==", "!="}
	// The operator is whatever looks like one, so that a wrong one is called wrong.
	thresholdForm = regexp.MustCompile(`^([a-z][a-z0-9_-]*(?:\.[a-z0-9_-]+)*)\s*([<>=!~≤≥]+)\s*(\S.*)$`)
	plainNumber   = regexp.MustCompile(`^-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$`)
)

// ParseThreshold reads a threshold as String writes it; spaces around the operator
// may be left out.
func ParseThreshold(text string) (Threshold, error) {
	m := thresholdForm.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return Threshold{}, &valueError{msg: quote(text) + " is not a threshold", hint: thresholdHint}
	}
	t := Threshold{Metric: m[1], Op: m[2]}
	if !slices.Contains(comparisons, t.Op) {
		return Threshold{}, &valueError{msg: "unknown operator " + quote(t.Op) + " in " + quote(text), hint: "one of " + strings.Join(comparisons, " ")}
	}
	if err := t.setLimit(m[3]); err != nil {
		return Threshold{}, err
	}
	switch {
	case t.Limit < 0:
		return Threshold{}, &valueError{msg: "the limit of " + quote(text) + " is negative", hint: "no number of a result is"}
	case t.Limit == 0 && t.Op == "<":
		return Threshold{}, &valueError{msg: quote(text) + " can never hold", hint: "no number of a result is negative; == 0 asks for none"}
	case t.Limit == 0 && t.Op == ">=":
		return Threshold{}, &valueError{msg: quote(text) + " always holds", hint: "no number of a result is negative; > 0 asks for some"}
	}
	t.Limit = math.Abs(t.Limit) // -0 is 0
	return t, nil
}

// setLimit reads a number, or a duration, which always has its unit.
func (t *Threshold) setLimit(text string) error {
	if plainNumber.MatchString(text) {
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || math.Abs(n) > maxLimit {
			return &valueError{msg: "limit of " + quote(text) + " is out of range", hint: "at most 1e15"}
		}
		t.Limit = n
		return nil
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return &valueError{msg: "the limit " + quote(text) + " is neither a number nor a duration", hint: "such as 400, 0.99 or 50ms"}
	case d > maxSpan:
		return &valueError{msg: "limit of " + quote(text) + " is out of range", hint: "at most " + formatDuration(maxSpan)}
	}
	t.Limit, t.Duration = float64(d), true
	return nil
}

func (t Threshold) String() string {
	limit := strconv.FormatFloat(t.Limit, 'f', -1, 64)
	if t.Duration {
		limit = formatDuration(time.Duration(t.Limit))
	}
	return t.Metric + " " + t.Op + " " + limit
}

// A region is what numbers a comparison lets through.
type region struct {
	lo, hi         float64
	openLo, openHi bool // without the end itself
}

var anything = region{hi: math.Inf(1)}

// region returns where the threshold holds. That of != is everything: one number
// does not make a difference to a region.
func (t Threshold) region() region {
	r := anything
	switch t.Op {
	case "<", "<=":
		r.hi, r.openHi = t.Limit, t.Op == "<"
	case ">", ">=":
		r.lo, r.openLo = t.Limit, t.Op == ">"
	case "==":
		r.lo, r.hi = t.Limit, t.Limit
	}
	return r
}

// meets reports whether a number can be in both.
func (r region) meets(o region) bool {
	if o.lo > r.lo || o.lo == r.lo && o.openLo {
		r.lo, r.openLo = o.lo, o.openLo
	}
	if o.hi < r.hi || o.hi == r.hi && o.openHi {
		r.hi, r.openHi = o.hi, o.openHi
	}
	return r.lo < r.hi || r.lo == r.hi && !r.openLo && !r.openHi
}

// excludes reports whether no number can meet both.
func (t Threshold) excludes(o Threshold) bool {
	if t.Limit == o.Limit && (t.Op == "==" && o.Op == "!=" || t.Op == "!=" && o.Op == "==") {
		return true
	}
	return !t.region().meets(o.region())
}
