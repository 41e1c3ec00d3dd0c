package gatecurve

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"locklab/harness/check/evidence"
	"locklab/harness/records"
	"locklab/reports/compare"
	"locklab/reports/result"
)

// SchemaVersion is the schema_version of a record.
const SchemaVersion = 1

// A Record is one comparison, reduced to what its answer depends on.
type Record struct {
	SchemaVersion int    `json:"schema_version"`
	Machine       string `json:"machine"` // such as "2 cores, quiet"
	// Weather says that there was a load that came and went. All records of a machine's name say the same.
	Weather bool   `json:"weather,omitempty"`
	Cell    string `json:"cell"`
	// Locklab is the revision that measured.
	Locklab string    `json:"locklab"`
	Begun   time.Time `json:"begun"`
	// TookS is how long the comparison took, in seconds, with its lab.
	TookS float64 `json:"took_s"`
	// DelayNs is by how much the head's releases were delayed, if they were.
	DelayNs int64 `json:"delay_ns,omitempty"`
	// Verdict and Reason are the answer that was given then.
	Verdict compare.Verdict `json:"verdict"`
	Reason  string          `json:"reason"`
	// Config is the configuration of the base, and Looks are the times at which the samples were compared.
	Config map[string]string `json:"config"`
	Looks  []compare.Look    `json:"looks"`
	// Pairs is how many pairs of runs there are, which the samples are of, in the order of their names.
	Pairs int `json:"pairs"`
	// NotPassed has the verdicts of runs that did not pass, by names such as head/003.
	NotPassed map[string]evidence.Result `json:"not_passed,omitempty"`
	// Samples has the numbers of the runs by their paths in result.json, with six digits. A number that a run does not
	// have is null. Numbers that are 0 in all runs are left out.
	Samples map[string]Sides `json:"samples"`
}

// Sides has one number of each run.
type Sides struct {
	Base []*float64 `json:"base"`
	Head []*float64 `json:"head"`
}

// The names of a benchmark's sides, which are also folders.
const (
	base = "base"
	head = "head"
)

// kept reports whether a record keeps a quantity: those on which the verdict depends, those that these are computed
// from, and the tail of the hand-off.
func kept(q result.Quantity) bool {
	return q.Of == nil && (q.Compared.Gates || slices.Contains(standIn, q.Path) ||
		strings.HasPrefix(q.Path, "operations.") && q.Unit == result.Count ||
		strings.HasPrefix(q.Path, "latency.handoff.") && q.Compared != result.Comparison{})
}

// standIn are the numbers that take the place of acquire.p99 in a short run, see [result.Quantity.Sample].
var standIn = []string{"latency.acquire.count", "latency.acquire.max_ns"}

// Condense sets the answer and the samples from the directory of a benchmark, whose options are the default.
func (r *Record) Condense(dir string) error {
	design, designErr := compare.ReadDesign(filepath.Join(dir, base), filepath.Join(dir, head))
	b, errBase := compare.Load(filepath.Join(dir, base))
	h, errHead := compare.Load(filepath.Join(dir, head))
	err := errors.Join(designErr, errBase, errHead)
	if err != nil {
		return err
	}
	report, err := compare.Compare(b, h, compare.Options{Varied: design.Varied, Paired: true, Looks: design.Looks}, nil)
	if err != nil {
		return err
	}
	r.SchemaVersion, r.Verdict, r.Reason, r.Looks = SchemaVersion, report.Verdict, report.Reason, design.Looks
	r.Config, r.Locklab = b.Runs[0].Config, b.Runs[0].Env.Locklab
	byName := func(a, b compare.Run) int { return cmp.Compare(a.Name, b.Name) }
	slices.SortFunc(b.Runs, byName)
	slices.SortFunc(h.Runs, byName)
	r.Pairs = min(len(b.Runs), len(h.Runs))
	r.Samples, r.NotPassed = map[string]Sides{}, nil
	for _, q := range result.Quantities() {
		if !kept(q) {
			continue
		}
		s := Sides{r.values(q, b), r.values(q, h)}
		if slices.ContainsFunc(slices.Concat(s.Base, s.Head), func(v *float64) bool { return v != nil && *v != 0 }) {
			r.Samples[q.Path] = s
		}
	}
	for i := range r.Pairs {
		for side, run := range map[string]compare.Run{base: b.Runs[i], head: h.Runs[i]} {
			if v := run.Result.Verdict; v != evidence.Pass {
				if r.NotPassed == nil {
					r.NotPassed = map[string]evidence.Result{}
				}
				r.NotPassed[runName(side, i)] = v
			}
		}
	}
	return nil
}

// runName is the name of the i-th run of a side, from 0.
func runName(side string, i int) string { return fmt.Sprintf("%s/%03d", side, i+1) }

func (r *Record) values(q result.Quantity, s compare.Side) (all []*float64) {
	for i := range s.Runs[:r.Pairs] {
		v := q.Value(&s.Runs[i].Result)
		if v != nil {
			short, err := strconv.ParseFloat(strconv.FormatFloat(*v, 'g', 6, 64), 64)
			if err == nil {
				v = &short
			}
		}
		all = append(all, v)
	}
	return all
}

// Budget is the time that each comparison has.
const Budget = 5 * time.Minute

// Replay compares the samples again, look by look, and returns the first answer and the minutes until then. If the
// statistics of package compare are as they were when the samples were made, so is the answer. If they have become
// stricter, there may be none, although the comparison would have gone on.
func (r *Record) Replay() (compare.Verdict, float64, error) {
	for i, l := range r.Looks[:max(0, len(r.Looks)-1)] {
		then := *r
		then.Pairs, then.Looks = min(l.Pairs, r.Pairs), r.Looks[:i+1]
		report, err := then.Compare()
		if err != nil || report.Verdict != compare.Inconclusive {
			return report.Verdict, l.Spent * Budget.Minutes(), err
		}
	}
	report, err := r.Compare()
	return report.Verdict, r.TookS / 60, err
}

// Compare compares the samples again, all of them.
func (r *Record) Compare() (compare.Report, error) {
	b, errBase := r.side(base, 0, func(s Sides) []*float64 { return s.Base })
	h, errHead := r.side(head, 1, func(s Sides) []*float64 { return s.Head })
	return compare.Compare(b, h, compare.Options{Paired: true, Looks: r.Looks}, errors.Join(errBase, errHead))
}

// side makes the runs of a side of their numbers. They begin in the order of their names.
func (r *Record) side(name string, offset int64, of func(Sides) []*float64) (compare.Side, error) {
	side := compare.Side{Name: name}
	for i := range r.Pairs {
		fields := map[string]any{}
		for path, s := range r.Samples {
			values := of(s)
			if i >= len(values) {
				return side, fmt.Errorf("%s of %s: %d values of %d", path, name, len(values), r.Pairs)
			}
			if values[i] != nil {
				set(fields, strings.Split(path, "."), *values[i])
			}
		}
		run := compare.Run{Name: runName(name, i), Config: maps.Clone(r.Config)}
		text, err := json.Marshal(fields)
		if err == nil {
			err = json.Unmarshal(text, &run.Result)
		}
		if err != nil {
			return side, err
		}
		run.Result.Verdict = cmp.Or(r.NotPassed[run.Name], evidence.Pass)
		run.Env.StartedUnixNs = 1 + 2*int64(i) + offset
		side.Runs = append(side.Runs, run)
	}
	return side, nil
}

// set sets a field that is nested as its path says.
func set(fields map[string]any, path []string, v float64) {
	if len(path) == 1 {
		fields[path[0]] = v
		return
	}
	below, ok := fields[path[0]].(map[string]any)
	if !ok {
		below = map[string]any{}
		fields[path[0]] = below
	}
	set(below, path[1:], v)
}

// Read reads records, one from each line.
func Read(from io.Reader) ([]Record, error) {
	return records.Read(from, func(r *Record) int { return r.SchemaVersion }, SchemaVersion)
}

// Append adds a record to the end of a file, which is made if it does not exist.
func (r *Record) Append(name string) error { return records.Append(name, r) }
