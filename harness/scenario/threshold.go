package scenario

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"locklab/harness/check/counters"
	"locklab/harness/check/evidence"
	"locklab/harness/settings"
	"locklab/workloads"
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

const (
	// thresholdsKey is the key in files. The flag and the variable are named in the singular, as each gives one.
	thresholdsKey = "thresholds"
	// ThresholdFlag is the flag, without its dashes; it may be repeated.
	ThresholdFlag = "threshold"
	// ThresholdEnv is the variable; it may have several with commas between them.
	ThresholdEnv = "LOCKLAB_THRESHOLD"
)

// thresholdKey names a threshold in origins.
func thresholdKey(i int) string { return fmt.Sprintf("%s[%d]", thresholdsKey, i) }

func (l *loader) thresholds(at *token.Token, v ast.Node) {
	for _, entry := range l.list(thresholdsKey, at, v, maxThresholds, "entries like \"- acquire.p99 < 50ms\"") {
		switch entry.(type) {
		case *ast.MappingNode, *ast.SequenceNode, *ast.NullNode:
			l.refuse(entry.GetToken(), "a threshold is one line of text, not "+kindOf(entry), thresholdHint)
			continue
		}
		text, ok := l.scalar(entry, named("a threshold"))
		if !ok {
			continue
		}
		t, err := ParseThreshold(text)
		if err != nil {
			l.refuseValue(entry.GetToken(), err)
			continue
		}
		l.note(thresholdKey(len(l.Thresholds)), l.origin(entry.GetToken()))
		l.Thresholds = append(l.Thresholds, t)
	}
}

// SetThresholds replaces the scenario's thresholds, as the flag does. Each text may have several with commas between
// them. The error is an [*InputError] that names the flag.
func (s *Scenario) SetThresholds(texts []string) error {
	return s.overrideThresholds(strings.Join(texts, ","), origin{rank: fromFlag, name: "--" + ThresholdFlag})
}

func (s *Scenario) overrideThresholds(texts string, from origin) error {
	var list []Threshold
	for text := range strings.SplitSeq(texts, ",") {
		t, err := ParseThreshold(text)
		if err != nil {
			return inFlag(from.name, err)
		}
		list = append(list, t)
	}
	if len(list) > maxThresholds {
		hint := fmt.Sprintf("at most %d", maxThresholds)
		return &InputError{Flag: from.name, Msg: tooMany(len(list), thresholdsKey), Hint: hint}
	}
	if s.origins[thresholdsKey].rank > from.rank {
		return nil
	}
	s.Thresholds = list
	s.note(thresholdsKey, from)
	for i := range list {
		s.note(thresholdKey(i), from)
	}
	return nil
}

// thresholds checks that the thresholds can be met together, and together with the counters that are to be shown.
func (v *validator) thresholds() {
	if len(v.Thresholds) > maxThresholds {
		v.refuse(by(thresholdsKey), fmt.Sprintf("at most %d", maxThresholds), "%s",
			tooMany(len(v.Thresholds), thresholdsKey))
		return
	}
	for i, t := range v.Thresholds {
		at := by(thresholdKey(i), thresholdsKey)
		if reread, err := ParseThreshold(t.String()); err != nil || reread != t { // it was made by code
			v.refuse(at, thresholdHint, "%s is not a threshold", settings.Quote(t.String()))
			continue
		}
		if n, shown := v.Shown[t.Metric]; shown && t.excludes(Threshold{Op: ">=", Limit: float64(n)}) {
			v.refuse(at, "drop one of the two", "%s cannot be met where at least %d must be shown", t, n)
		}
		for j, o := range v.Thresholds[:i] {
			switch {
			case o.Metric != t.Metric:
			case o.Op == t.Op && t.Op != "!=":
				v.refuse(by(thresholdKey(i), thresholdKey(j)), "one of the two", "two limits of one kind: %s and %s", t, o)
			case o.excludes(t):
				v.refuse(by(thresholdKey(i), thresholdKey(j)), "drop one of the two", "%s and %s cannot both be met", o, t)
			}
		}
		if of := metricsOfWorkload[t.Metric]; of != "" && of != v.Workload {
			v.refuse(by(thresholdKey(i), "workload"), "workload: "+of+", or drop it",
				"%s belongs to workload %s, not to %s", t.Metric, of, v.Workload)
		}
		v.measurable(i, t)
	}
}

// measurable refuses a threshold on a number that this run will not have, so that the user does not learn it after the
// run.
func (v *validator) measurable(i int, t Threshold) {
	first, _, _ := strings.Cut(t.Metric, ".")
	at := thresholdKey(i)
	switch {
	case slices.Contains(metricsOfOpenLoop, first) && !v.Open():
		v.refuse(by(at, "arrivals"), "arrivals: poisson, or drop it",
			"%s belongs to an open loop, and arrivals are closed", t.Metric)
	case countedBy(t.Metric) == evidence.Effect && v.Section == SectionNone:
		v.refuse(by(at, "section"), "section: counter, or drop it",
			"section none leaves the resource alone, so there are no %s", t.Metric)
	case first == "acquire_read" && v.Workload != workloads.ReadWrite:
		v.refuse(by(at, "workload"), "workload: read-write, or drop it",
			"%s belongs to workload read-write, not to %s", t.Metric, v.Workload)
	case v.cutOff(t):
		v.refuse(by(at, "wait"), "a limit below wait, or operations.timed_out == 0",
			"%s cannot be missed, because acquisitions are given up after %s and only granted ones have a latency",
			t, settings.FormatDuration(v.Wait))
	}
}

// cutOff reports whether the threshold is an upper limit on a latency that wait keeps below it anyway. In an open loop
// acquire begins before the client asks, so wait does not bound it.
func (v *validator) cutOff(t Threshold) bool {
	phase, _, _ := strings.Cut(t.Metric, ".")
	within := slices.Contains(latenciesWithinWait, phase) || !v.Open() && slices.Contains(latenciesOfAcquire, phase)
	return within && v.Wait > 0 && t.Duration && (t.Op == "<" || t.Op == "<=") && t.Limit >= float64(v.Wait)
}

// Numbers that only some runs have, by their name or its first part.
var (
	metricsOfOpenLoop = []string{"arrival", "service", "offered_per_s", "dropped", "dropped_per_s", "backlog_max",
		"backlog_end"}
	latenciesWithinWait = []string{"service", "enqueue", "wait"}
	latenciesOfAcquire  = []string{"acquire", "acquire_read", "acquire_write"}
)

// metricsOfWorkload has the workload of each counter that only one workload has.
var metricsOfWorkload = map[string]string{
	counters.TornReads: workloads.ReadWrite,
	counters.Crowded:   workloads.Semaphore,
}

// A Metric is a number that a result has, as thresholds name it.
type Metric struct {
	Name     string
	Duration bool // its limits are durations
	Share    bool // it is from 0 to 1
}

// CheckMetrics refuses thresholds on numbers that no result has, or whose limit is of another kind than the number. The
// error joins an [*InputError] for each.
func (s *Scenario) CheckMetrics(known []Metric) error {
	var names []string
	for _, m := range known {
		names = append(names, m.Name)
	}
	v := &validator{Scenario: s}
	for i, t := range s.Thresholds {
		at := by(thresholdKey(i), thresholdsKey)
		n := slices.Index(names, t.Metric)
		switch {
		case n < 0:
			v.refuse(at, likelyMetric(t.Metric, names), "no result has a number %s", settings.Quote(t.Metric))
		case known[n].Duration && !t.Duration:
			v.refuse(at, "with a unit, such as "+t.Metric+" "+t.Op+" 50ms",
				"%s is a duration, and the limit of %s is not", t.Metric, settings.Quote(t.String()))
		case !known[n].Duration && t.Duration:
			v.refuse(at, "without a unit",
				"%s is a plain number, and the limit of %s is a duration", t.Metric, settings.Quote(t.String()))
		case known[n].Share && !t.interval().meets(share):
			v.refuse(at, "a limit below 1", "%s can never hold: %s is from 0 to 1", settings.Quote(t.String()), t.Metric)
		case known[n].Share && t.holdsForShares():
			v.refuse(at, "a limit below 1", "%s always holds: %s is from 0 to 1", settings.Quote(t.String()), t.Metric)
		}
	}
	return join(v.errs)
}

// share is the interval of numbers that are shares.
var share = interval{hi: 1}

// holdsForShares reports whether every share meets the threshold.
func (t Threshold) holdsForShares() bool {
	switch t.Op {
	case "<", "!=":
		return t.Limit > 1
	case "<=":
		return t.Limit >= 1
	}
	return false // the limit is not negative, so only > and >= 0 would, which ParseThreshold refuses
}

// likelyMetric suggests metrics whose names resemble an unknown one, or of which it is a part.
func likelyMetric(name string, known []string) string {
	if near := settings.NearestPath(name, known); len(near) > 0 {
		return "did you mean " + strings.Join(near, " or ") + "?"
	}
	return "a path in result.json, or its short form, such as acquire.p99, acquired_per_s, overlaps"
}
