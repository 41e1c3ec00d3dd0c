package compare

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"locklab/harness/untrusted"
	"locklab/reports/result"
	"locklab/reports/words"
)

// A Verdict is the result of a comparison.
type Verdict string

// The verdicts. The verdict of the whole is the first of Regressed, Inconclusive, Improved and Pass that a metric
// has.
const (
	Pass         Verdict = "pass"
	Regressed    Verdict = "regressed"
	Improved     Verdict = "improved"
	Inconclusive Verdict = "inconclusive"
	// Violation is a verdict of the whole only: the head broke a promise of the lock, so its speed does not matter.
	Violation Verdict = "violation"
	// NotMeasured is a verdict of a metric only: no run of either side has it.
	NotMeasured Verdict = "n/a"
)

// MinRuns is the least number of runs on a side. Three against three cannot have p < 0.05, whatever their values.
const MinRuns = 4

// Options are the options of a comparison. The zero value is the default.
type Options struct {
	// AllowMismatch names configuration keys in which the sides may differ, and Varied those in which they differ on
	// purpose.
	AllowMismatch, Varied []string
	// Paired says that runs with the same name were made next to each other.
	Paired bool
	// Metrics names the quantities that gate instead of the usual ones.
	Metrics []string
	// Tolerate has tolerances by the names of quantities that gate, instead of the usual ones.
	Tolerate map[string]float64
	// Looks are the times at which a benchmark with a budget compared what it had so far. The error rates are shared
	// out among them; see [Look].
	Looks []Look

	_ struct{}
}

// Version is the schema_version of a report.
const Version = 2

// A Report is what a comparison found.
type Report struct {
	SchemaVersion int     `json:"schema_version"`
	Verdict       Verdict `json:"verdict"`
	Reason        string  `json:"reason"`

	// Measured says what was measured: the base's servers, storage and cores. In what else the head differs, if it does,
	// is in Mismatches.
	Measured string `json:"measured"`

	Base       SideInfo `json:"base"`
	Head       SideInfo `json:"head"`
	Violations []string `json:"violations"` // of the head
	// Says is what the first run with a violation says in a sentence, and Saw is its directory; empty without one.
	Says       string     `json:"says,omitempty"`
	Saw        string     `json:"saw,omitempty"`
	Page       string     `json:"page,omitempty"` // the address of that run's report, if it has one: see [Page]
	Mismatches []Mismatch `json:"mismatches"`     // those that are allowed; others are refused without a report
	Warnings   []string   `json:"warnings"`
	Metrics    []Line     `json:"metrics"`
	// Paired says that runs were compared pair by pair, and not just side by side.
	Paired bool `json:"paired"`
	// Confidence is that of every interval.
	Confidence float64 `json:"confidence"`
}

// SideInfo describes a side.
type SideInfo struct {
	Name string `json:"name"`
	Runs int    `json:"runs"`
	// Locklab is the revision of the binary that ran the side. Clients is the binary of the client processes if it
	// was another one, and Lock says what a foreign lock consists of; "" if there is none, or if it is not known.
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
	// Change is the head relative to the base, as a ratio, or as a difference if Difference is set; nil without
	// enough runs.
	Change     *Interval `json:"change"`
	Difference bool      `json:"difference"`
	// P is how likely such samples are if the change is within the tolerance, either way. It is two-sided, by the
	// signed ranks of pairs or by Mann-Whitney.
	P         *float64 `json:"p"`
	PAdjusted *float64 `json:"p_adjusted"` // after Holm, over the metrics that gate
	// Tolerance is the loss that is accepted: relative to the base, or as a difference.
	Tolerance float64 `json:"tolerance"`

	quantity result.Quantity
	least    float64 // the smallest p that this number of runs can have
	constant bool    // all runs have the same value
	missing  string  // what is wrong with runs that are unknown; "" if none is
}

// Compare compares two sides. It returns an error that wraps [ErrInput] if they cannot be compared. A violation in
// the head is reported whatever else is wrong, so call Compare even if [Load] returned an error, and pass that error
// as loaded.
func Compare(base, head Side, opts Options, loaded error) (Report, error) {
	r, err := compareSides(base, head, opts, loaded)
	untrusted.Lines(&r) // names and results may come from a stranger's runs
	return r, err
}

func compareSides(base, head Side, opts Options, loaded error) (Report, error) {
	r := Report{
		SchemaVersion: Version, Base: infoOf(base), Head: infoOf(head),
		Violations: []string{}, Mismatches: []Mismatch{}, Warnings: []string{}, Metrics: []Line{},
	}
	for i := range head.Runs {
		r.Violations = append(r.Violations, head.Runs[i].violations()...)
		if r.Saw == "" && len(r.Violations) > 0 {
			r.Says, r.Saw = words.Sentence(head.Runs[i].Result.Headline), head.Runs[i].Name
		}
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
		r.Warnings = append(r.Warnings, strings.Split(err.Error(), "\n")...)
	}
	return r, nil
}

func infoOf(s Side) SideInfo {
	info := SideInfo{Name: s.Name, Runs: len(s.Runs)}
	if len(s.Runs) > 0 {
		info.Locklab, info.Clients, info.Lock = s.Runs[0].Env.Locklab, s.Runs[0].Env.ClientBinary, s.Runs[0].Env.Lock
	}
	return info
}

func (r *Report) compare(base, head Side, opts Options) error {
	if len(base.Runs) == 0 || len(head.Runs) == 0 {
		return fmt.Errorf("%w: a side has no runs", ErrInput)
	}
	metrics, err := choose(opts.Metrics, opts.Tolerate)
	if err == nil {
		err = repeated(base, head)
	}
	if err == nil {
		r.Mismatches, err = checkConfigs(base, head, opts)
	}
	if err != nil {
		return err
	}
	r.Measured = measured(base.Runs[0].Config)
	if !interleaved(base, head) {
		r.Warnings = append(r.Warnings, "the runs of the two sides did not take turns, so a change of the machine in "+
			"between looks like a change of the lock")
	}
	var pairs []pair
	if opts.Paired {
		pairs = r.pair(&base, &head, metrics)
	}
	n, family := min(len(base.Runs), len(head.Runs)), max(1, gating(metrics))
	r.Confidence = 1 - lookLevel(opts.Looks, n, 1-confidence)
	for _, m := range metrics {
		l := judgeMetric(m, base, head, r.Paired, 1-r.Confidence)
		if r.Metrics = append(r.Metrics, l); l.missing != "" && l.Gates {
			r.Warnings = append(r.Warnings, fmt.Sprintf("%s: %s; the answer holds whatever the number would have been",
				l.Name, l.missing))
		}
	}
	// Holm's smallest level is that of one metric among all. A higher level may use a larger share of itself.
	least := lookLevel(opts.Looks, n, falseAlarms/float64(family))
	judge(r.Metrics, len(opts.Metrics) > 0, least*float64(family))
	r.conclude(base, head, pairs)
	return nil
}

// pair makes the comparison one of pairs if there are enough: it leaves only the runs of pairs in the sides.
func (r *Report) pair(base, head *Side, metrics []result.Quantity) []pair {
	pairs, over := pairsOf(*base, *head)
	if !enoughPairs(len(pairs), gating(metrics)) {
		return nil
	}
	for _, name := range over {
		r.Warnings = append(r.Warnings, name+" has no partner and was left out")
	}
	r.Paired = true
	*base, *head = apart(*base, *head, pairs)
	return pairs
}

// checkConfigs returns the keys in which the sides differ and may. Within a side nothing may differ, whatever is
// allowed, because its runs would be samples of two different things.
func checkConfigs(base, head Side, opts Options) ([]Mismatch, error) {
	for _, s := range []Side{base, head} {
		for _, run := range s.Runs[1:] {
			first := s.Runs[0]
			d := mismatches(first.Config, run.Config)
			for _, code := range [][3]string{{"env.locklab", first.Env.Locklab, run.Env.Locklab},
				{"env.client_binary", first.Env.ClientBinary, run.Env.ClientBinary}, {"env.lock", first.Env.Lock, run.Env.Lock}} {
				if code[1] != code[2] {
					d = append(d, Mismatch{Key: code[0], Base: code[1], Head: code[2]})
				}
			}
			if len(d) > 0 {
				return nil, fmt.Errorf("%w: %s and %s are on one side but of different configurations: %s", ErrInput, first.Name,
					run.Name, d[0])
			}
		}
	}
	b, h := base.Runs[0].Config, head.Runs[0].Config
	known := slices.AppendSeq(slices.Collect(maps.Keys(b)), maps.Keys(h))
	for _, key := range opts.AllowMismatch {
		if !slices.ContainsFunc(known, func(full string) bool { return names(key, full) }) {
			return nil, fmt.Errorf("%w: --allow-mismatch %s: neither side has such a key", ErrInput, key)
		}
	}
	all := mismatches(b, h)
	var refused []Mismatch
	for i := range all {
		allowed := func(key string) bool { return names(key, all[i].Key) }
		switch {
		case slices.ContainsFunc(opts.Varied, allowed):
			all[i].Why = "varied"
		case slices.ContainsFunc(opts.AllowMismatch, allowed):
			all[i].Why = "allowed"
		default:
			refused = append(refused, all[i])
		}
	}
	if len(refused) > 0 {
		return nil, fmt.Errorf("%w: the sides are of different configurations:\n  %s\nName an intended difference with "+
			"--allow-mismatch KEY", ErrInput, strings.Join(inLines(refused), "\n  "))
	}
	return slices.Concat([]Mismatch{}, all), nil
}

// conclude sets the verdict of the whole.
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
			r.Reason = fmt.Sprintf("a loss beyond its tolerance is ruled out for each of %d metrics that gate", len(names))
		}
		return
	}
}

// obstacle says why the numbers cannot be judged; nil if they can. Among pairs, a run that is unsettled is one without
// numbers; see [known].
func obstacle(base, head Side, pairs []pair) error {
	var why []error
	for _, s := range []Side{base, head} {
		for i := range s.Runs {
			if reason := s.Runs[i].unusable(); reason != "" && !(pairs != nil && s.Runs[i].unsettled()) {
				why = append(why, errors.New(reason))
			}
		}
		if n := len(s.Runs); n < MinRuns {
			why = append(why, fmt.Errorf("%s has %s; at least %d a side are needed, and 6 are better", s.Name, runs(n), MinRuns))
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
