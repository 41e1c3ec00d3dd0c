package compare

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Verdict is what a comparison comes to.
type Verdict string

// The verdicts. Over several metrics Regressed beats Inconclusive beats Improved
// beats Pass.
const (
	Pass         Verdict = "pass"
	Regressed    Verdict = "regressed"
	Improved     Verdict = "improved"
	Inconclusive Verdict = "inconclusive"
	// Violation is of the whole only: the head broke a promise of the lock. How
	// fast it did so is beside the point.
	Violation Verdict = "violation"
	// NotMeasured is of a metric only: no run of either side has it.
	NotMeasured Verdict = "n/a"
)

// MinRuns is the least number of runs on a side: three against three cannot come
// to p < 0.05, whatever they are.
const MinRuns = 4

// Options are what a comparison can be told. The zero value is the default.
type Options struct {
	// AllowMismatch names configuration keys in which the sides may differ, and
	// Varied those in which they were made to.
	AllowMismatch, Varied []string
	// Paired says that runs of one name were made next to each other.
	Paired bool
	// Floor replaces every metric's relative floor, unless it is nil.
	Floor *float64
	// Metrics names those that gate, instead of the usual ones.
	Metrics []string

	_ struct{}
}

// Version is the schema_version of a report.
const Version = 1

// A Report is all that a comparison found.
type Report struct {
	SchemaVersion int     `json:"schema_version"`
	Verdict       Verdict `json:"verdict"`
	Reason        string  `json:"reason"`

	Base       SideInfo   `json:"base"`
	Head       SideInfo   `json:"head"`
	Violations []string   `json:"violations"` // of the head
	Mismatches []Mismatch `json:"mismatches"` // allowed ones; of a refused comparison there is no report
	Warnings   []string   `json:"warnings"`
	Metrics    []Line     `json:"metrics"`
	// Paired says that runs were compared pair by pair, and not just side by side.
	Paired bool `json:"paired"`
}

// SideInfo says what a side was.
type SideInfo struct {
	Name string `json:"name"`
	Runs int    `json:"runs"`
	// Locklab is the revision of the binary that ran it, Clients what client processes ran if that was
	// another one, and Lock what a lock that is not ours consists of; "" if not known, or none.
	Locklab string `json:"locklab"`
	Clients string `json:"clients"`
	Lock    string `json:"lock"`
}

// A Line is the comparison of one metric.
type Line struct {
	Name    string  `json:"name"`
	Unit    string  `json:"unit"` // as in bench.txt
	Gates   bool    `json:"gates"`
	Verdict Verdict `json:"verdict"`
	Reason  string  `json:"reason"`

	BaseMedian *float64 `json:"base_median"` // in that unit
	HeadMedian *float64 `json:"head_median"`
	// Change is head relative to base, as a ratio, or as the difference if
	// Difference says so; nil without enough runs.
	Change     *Interval `json:"change"`
	Difference bool      `json:"difference"`
	P          *float64  `json:"p"`          // two-sided, of the signed ranks of pairs or of Mann-Whitney
	PAdjusted  *float64  `json:"p_adjusted"` // after Holm, over the metrics that gate
	// Floor is the least loss that counts and Tolerated the most that a pass may
	// leave possible: relative, or of the difference.
	Floor     float64 `json:"floor"`
	Tolerated float64 `json:"tolerated"`

	metric   Metric
	least    float64 // the smallest p that so many runs can come to
	constant bool    // all runs have the same
}

// Compare compares two sides. It returns an error that wraps [ErrInput] if they
// cannot be compared; but a violation in the head is reported whatever else
// is wrong, so ask [Compare] even about sides that [Load] had errors with, and give
// it those errors in loaded.
func Compare(base, head Side, opts Options, loaded error) (Report, error) {
	r := Report{SchemaVersion: Version, Base: infoOf(base), Head: infoOf(head), Violations: []string{}, Mismatches: []Mismatch{}, Warnings: []string{}, Metrics: []Line{}}
	for i := range head.Runs {
		r.Violations = append(r.Violations, head.Runs[i].violations()...)
	}
	err := loaded
	if err == nil {
		err = r.compare(base, head, opts)
	}
	if len(r.Violations) == 0 {
		return r, err
	}
	r.Verdict, r.Reason = Violation, r.Violations[0]
	if n := len(r.Violations); n > 1 {
		r.Reason = fmt.Sprintf("%s (and %d more)", r.Reason, n-1)
	}
	if err != nil {
		r.Warnings = append(r.Warnings, err.Error())
	}
	return r, nil
}

func infoOf(s Side) SideInfo {
	info := SideInfo{Name: s.Name, Runs: len(s.Runs)}
	if len(s.Runs) > 0 {
		info.Locklab, info.Clients, info.Lock = s.Runs[0].Locklab, s.Runs[0].Clients, s.Runs[0].Lock
	}
	return info
}

func (r *Report) compare(base, head Side, opts Options) error {
	if len(base.Runs) == 0 || len(head.Runs) == 0 {
		return fmt.Errorf("%w: a side without runs", ErrInput)
	}
	metrics, err := choose(Metrics(), opts.Metrics)
	if err == nil {
		err = repeated(base, head)
	}
	if err == nil {
		r.Mismatches, err = checkConfigs(base, head, opts)
	}
	if err != nil {
		return err
	}
	if !interleaved(base, head) {
		r.Warnings = append(r.Warnings, "the runs of the two sides did not take turns: whatever changed on the machine in between looks like a change of the lock")
	}
	var pairs []pair
	if opts.Paired {
		pairs = r.pair(&base, &head, metrics)
	}
	for _, m := range metrics {
		if opts.Floor != nil {
			m.Floor = *opts.Floor
		}
		r.Metrics = append(r.Metrics, measure(m, base, head, r.Paired))
	}
	judge(r.Metrics, len(opts.Metrics) > 0)
	r.conclude(base, head, pairs)
	return nil
}

// pair makes the report one of pairs, and the sides consist of them, if there are enough.
func (r *Report) pair(base, head *Side, metrics []Metric) []pair {
	pairs, over := pairsOf(*base, *head)
	gates := 0
	for _, m := range metrics {
		if m.Gates {
			gates++
		}
	}
	if !enoughPairs(len(pairs), gates) {
		return nil
	}
	for _, name := range over {
		r.Warnings = append(r.Warnings, name+" has no partner and was left out")
	}
	r.Paired = true
	*base, *head = apart(*base, *head, pairs)
	return pairs
}

// checkConfigs returns in what the sides differ and may. Within a side nothing may
// differ, whatever is allowed: its runs would be samples of two things.
func checkConfigs(base, head Side, opts Options) ([]Mismatch, error) {
	for _, s := range []Side{base, head} {
		for _, run := range s.Runs[1:] {
			first := s.Runs[0]
			d := mismatches(first.Config, run.Config)
			for _, code := range [][3]string{{"env.locklab", first.Locklab, run.Locklab}, {"env.client_binary", first.Clients, run.Clients}, {"env.lock", first.Lock, run.Lock}} {
				if code[1] != code[2] {
					d = append(d, Mismatch{Key: code[0], Base: code[1], Head: code[2]})
				}
			}
			if len(d) > 0 {
				return nil, fmt.Errorf("%w: %s and %s are on one side but of different configurations: %s", ErrInput, first.Name, run.Name, d[0])
			}
		}
	}
	b, h := base.Runs[0].Config, head.Runs[0].Config
	for _, key := range opts.AllowMismatch {
		known := func(full string) bool { return names(key, full) }
		if !slices.ContainsFunc(keysOf(b), known) && !slices.ContainsFunc(keysOf(h), known) {
			return nil, fmt.Errorf("%w: --allow-mismatch %s: neither side has such a key", ErrInput, key)
		}
	}
	all := mismatches(b, h)
	var refused []string
	for i := range all {
		allowed := func(key string) bool { return names(key, all[i].Key) }
		switch {
		case slices.ContainsFunc(opts.Varied, allowed):
			all[i].Why = "varied"
		case slices.ContainsFunc(opts.AllowMismatch, allowed):
			all[i].Why = "allowed"
		default:
			refused = append(refused, all[i].String())
		}
	}
	if len(refused) > 0 {
		return nil, fmt.Errorf("%w: the sides are of different configurations:\n  %s\nA difference that is meant is named with --allow-mismatch KEY", ErrInput, strings.Join(refused, "\n  "))
	}
	return slices.Concat([]Mismatch{}, all), nil
}

func keysOf(config map[string]string) []string {
	keys := make([]string, 0, len(config))
	for k := range config {
		keys = append(keys, k)
	}
	return keys
}

// conclude draws the verdict of the whole from those of the metrics, and from what
// comes before them.
func (r *Report) conclude(base, head Side, pairs []pair) {
	if why := obstacle(base, head, pairs); why != nil {
		r.Verdict, r.Reason = Inconclusive, why.Error()
		return
	}
	r.Verdict, r.Reason = Inconclusive, "no metric that gates was measured"
	for _, v := range []Verdict{Regressed, Inconclusive, Improved, Pass} {
		var names []string
		for _, l := range r.Metrics {
			if l.Gates && l.Verdict == v {
				names = append(names, l.Name+": "+l.Reason)
			}
		}
		if len(names) == 0 {
			continue
		}
		r.Verdict, r.Reason = v, strings.Join(names, "; ")
		if v == Pass {
			r.Reason = fmt.Sprintf("none of %d metrics that gate is worse beyond noise, and the loss that each tolerates is ruled out", len(names))
		}
		return
	}
}

// obstacle says what stands before any judgement of the numbers.
func obstacle(base, head Side, pairs []pair) error {
	var why []error
	for _, s := range []Side{base, head} {
		for i := range s.Runs {
			if reason := s.Runs[i].unusable(); reason != "" {
				why = append(why, errors.New(reason))
			}
		}
		if n := len(s.Runs); n < MinRuns {
			why = append(why, fmt.Errorf("%s has %s; at least %d a side are needed, better 6", s.Name, runs(n), MinRuns))
		}
	}
	if len(why) == 0 {
		for _, reason := range noises(base, head, pairs) {
			why = append(why, errors.New(reason))
		}
	}
	if len(why) == 0 {
		return nil
	}
	if len(why) > 1 {
		return fmt.Errorf("%w (and %d more)", why[0], len(why)-1)
	}
	return why[0]
}

func runs(n int) string {
	if n == 1 {
		return "one run"
	}
	return fmt.Sprintf("%d runs", n)
}
