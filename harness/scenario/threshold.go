package scenario

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"locklab/harness/settings"
)

// A Threshold is a limit on a number of the result: "acquire.p99 < 50ms". The run misses it unless the comparison
// holds. Thresholds are comparable.
type Threshold struct {
	// Metric is the number's short name, see [MetricName]. Which numbers there are is not known here: see
	// [Scenario.CheckMetrics].
	Metric string
	Op     string  // one of < <= > >= == !=
	Limit  float64 // in nanoseconds where Duration is set; finite and not negative
	// Duration says that the limit was written with a unit of time.
	Duration bool
}

// The bounds of thresholds: how many a scenario may have, and the largest limits. A float64 represents whole numbers up
// to maxLimit exactly.
const (
	maxThresholds = 100
	maxDuration   = 24 * time.Hour
	maxLimit      = 1e15
)

const thresholdHint = "a name, an operator and a limit, such as acquire.p99 < 50ms"

var (
	comparisons = []string{"<", "<=", ">", ">=", "==", "!="}
	// Anything that looks like an operator matches, so that a wrong one gets an error of its own.
	thresholdForm = regexp.MustCompile(`^([a-z][a-z0-9_-]*(?:\.[a-z0-9_-]+)*)\s*([<>=!~≤≥]+)\s*(\S.*)$`)
	plainNumber   = regexp.MustCompile(`^-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$`)
)

// metricBlocks are the objects of result.json that the short names of numbers leave out.
var metricBlocks = []string{"latency", "throughput", "safety", "quantities"}

// MetricName returns the short name of a number of result.json, given its short name or its path: acquire.p99 for
// latency.acquire.p99_ns.
func MetricName(name string) string {
	name = strings.TrimSuffix(name, "_ns")
	if block, rest, ok := strings.Cut(name, "."); ok && slices.Contains(metricBlocks, block) {
		return rest
	}
	return name
}

// ParseThreshold reads a threshold as String writes it. Spaces around the operator may be left out, and the number may
// be given by its path in result.json.
func ParseThreshold(text string) (Threshold, error) {
	m := thresholdForm.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return Threshold{}, settings.Errorf(thresholdHint, "%s is not a threshold", settings.Quote(text))
	}
	t := Threshold{Metric: MetricName(m[1]), Op: m[2]}
	if !slices.Contains(comparisons, t.Op) {
		return Threshold{}, settings.Errorf("one of "+strings.Join(comparisons, " "), "unknown operator %s in %s",
			settings.Quote(t.Op), settings.Quote(text))
	}
	if err := t.setLimit(m[3]); err != nil {
		return Threshold{}, err
	}
	quoted := settings.Quote(text)
	switch {
	case t.Limit < 0:
		return Threshold{}, settings.Errorf("no number of a result is negative", "the limit of %s is negative", quoted)
	case t.Limit == 0 && t.Op == "<":
		return Threshold{}, settings.Errorf("no number of a result is negative; == 0 asks for none",
			"%s can never hold", quoted)
	case t.Limit == 0 && t.Op == ">=":
		return Threshold{}, settings.Errorf("no number of a result is negative; > 0 asks for some",
			"%s always holds", quoted)
	}
	t.Limit = math.Abs(t.Limit) // -0 is 0
	return t, nil
}

// setLimit reads a number, or a duration, which always has its unit.
func (t *Threshold) setLimit(text string) error {
	tooLarge := func(most string) error {
		return settings.Errorf("at most "+most, "limit of %s is out of range", settings.Quote(text))
	}
	if plainNumber.MatchString(text) {
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || math.Abs(n) > maxLimit {
			return tooLarge("1e15")
		}
		t.Limit = n
		return nil
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return settings.Errorf("such as 400, 0.99 or 50ms", "the limit %s is neither a number nor a duration",
			settings.Quote(text))
	case d > maxDuration:
		return tooLarge(settings.FormatDuration(maxDuration))
	}
	t.Limit, t.Duration = float64(d), true
	return nil
}

func (t Threshold) String() string {
	limit := settings.FormatNumber(t.Limit)
	if t.Duration {
		limit = settings.FormatDuration(time.Duration(t.Limit))
	}
	return t.Metric + " " + t.Op + " " + limit
}

// An interval has the numbers that meet a comparison.
type interval struct {
	lo, hi         float64
	openLo, openHi bool // the end itself is excluded
}

// interval returns the numbers that meet the threshold. For != it returns all numbers, because an interval cannot leave
// out a single one.
func (t Threshold) interval() interval {
	r := interval{hi: math.Inf(1)}
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

// meets reports whether some number is in both intervals.
func (r interval) meets(o interval) bool {
	if o.lo > r.lo || o.lo == r.lo && o.openLo {
		r.lo, r.openLo = o.lo, o.openLo
	}
	if o.hi < r.hi || o.hi == r.hi && o.openHi {
		r.hi, r.openHi = o.hi, o.openHi
	}
	return r.lo < r.hi || r.lo == r.hi && !r.openLo && !r.openHi
}

// excludes reports whether no number meets both thresholds.
func (t Threshold) excludes(o Threshold) bool {
	if t.Limit == o.Limit && (t.Op == "==" && o.Op == "!=" || t.Op == "!=" && o.Op == "==") {
		return true
	}
	return !t.interval().meets(o.interval())
}
