package compare

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"

	"locklab/harness/check/evidence"
	"locklab/harness/fail"
	"locklab/harness/records"
	"locklab/harness/rundir"
	"locklab/reports/result"
)

// ErrInput says that runs cannot be compared, because one is missing, damaged or not a run, or because their
// configurations differ.
var ErrInput = fail.Input.New("cannot compare")

// A Run is one sample.
type Run struct {
	// Name is the run directory, as the user named it.
	Name string
	// Result has its numbers.
	Result result.Result
	// Config has its resolved scenario and its environment by flat keys: scenario.clients, scenario.faults[0].kind,
	// env.kernel.
	Config map[string]string
	// Env is its environment. Runs are in the order of when they began, and that time together with the lab
	// identifies a run.
	Env rundir.Env
}

// ReadRun reads the run directory dir of fsys, which is called name. An error wraps [ErrInput]; the run then has what
// could be read.
func ReadRun(fsys fs.FS, dir, name string) (Run, error) {
	run := Run{Name: name, Config: map[string]string{}}
	read := func(file string, into func([]byte) error) error {
		b, err := fs.ReadFile(fsys, path.Join(dir, file))
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: %s has no %s", ErrInput, name, file)
		}
		if err == nil {
			err = into(b)
		}
		if err != nil {
			return fmt.Errorf("%w: %s: %s: %w", ErrInput, name, file, err)
		}
		return nil
	}
	if err := read(rundir.ResultFile, func(b []byte) error { return decodeResult(b, &run.Result) }); err != nil {
		return run, err
	}
	// A run that cannot be compared is returned as far as it is known, because it may have found a violation.
	err := errors.Join(
		read(rundir.ScenarioFile, func(b []byte) error { return flattenYAML("scenario", b, run.Config) }),
		read(rundir.EnvFile, func(b []byte) error {
			if err := flattenJSON("env", b, run.Config); err != nil {
				return err
			}
			if err := json.Unmarshal(b, &run.Env); err != nil {
				return err
			}
			if run.Env.StartedUnixNs <= 0 {
				return errors.New("started_unix_ns is missing")
			}
			return nil
		}))
	return run, err
}

// decodeResult reads a result.json and refuses what no run can have written.
func decodeResult(b []byte, r *result.Result) error {
	var version struct {
		SchemaVersion *int `json:"schema_version"`
	}
	if err := json.Unmarshal(b, &version); err != nil {
		return err
	}
	if version.SchemaVersion == nil {
		return errors.New("it has no schema_version, so it is not the result of a run")
	}
	if err := records.CheckVersion(*version.SchemaVersion, result.SchemaVersion); err != nil {
		return fmt.Errorf("%w; run the matching locklab check again", err)
	}
	var read result.Result
	if err := json.Unmarshal(b, &read); err != nil {
		return err
	}
	if !slices.Contains([]evidence.Result{evidence.Pass, evidence.Fail, evidence.Unknown}, read.Verdict) {
		return fmt.Errorf("verdict is %q", read.Verdict)
	}
	for _, q := range result.Compared() {
		if v := q.Value(&read); v != nil && (*v < 0 || math.IsNaN(*v) || math.IsInf(*v, 0)) {
			return fmt.Errorf("%s is %v", q.Name(), *v)
		}
	}
	if err := judged(&read); err != nil {
		return err
	}
	*r = read
	return nil
}

// judged says what is wrong with the verdict of a result: it has no checks, or it passed although a check is unknown.
// A check that failed is a violation, whatever the verdict says.
func judged(r *result.Result) error {
	if r.Partial {
		return nil // it is not a sample anyway
	}
	if len(r.Checks) == 0 {
		return errors.New("it has no checks, so nothing is known about the lock's safety; run locklab check again")
	}
	for _, c := range r.Checks {
		if c.Outcome == evidence.Unknown && r.Verdict == evidence.Pass {
			return fmt.Errorf("its verdict is %s, and its check %s came out as %s", r.Verdict, c.Name, c.Outcome)
		}
	}
	return nil
}

// violations returns the violations that the run's scenario does not expect.
func (r *Run) violations() []string {
	var all []string
	for _, c := range r.Result.Checks {
		if c.Outcome == evidence.Fail {
			all = append(all, fmt.Sprintf("%s: %s: %s", r.Name, c.Name, c.Summary))
		}
	}
	if len(all) == 0 && r.Result.Verdict == evidence.Fail && !r.threshold(evidence.Fail) {
		all = append(all, r.Name+": its verdict is fail")
	}
	return all
}

// threshold reports whether a threshold has a verdict. A run that missed one is a sample like any other, because it
// is compared with its base and not with a limit.
func (r *Run) threshold(like evidence.Result) bool {
	return slices.ContainsFunc(r.Result.Thresholds, func(l result.ThresholdLine) bool { return l.Verdict == like })
}

func (r *Run) uncertain() bool {
	return slices.ContainsFunc(r.Result.Checks, func(c result.CheckLine) bool { return c.Outcome == evidence.Unknown })
}

// unsettled reports whether the run is unknown for no other reason than that it did not go as it was to, for example
// because a process stood still, or the machine. What it measured may then be anything.
func (r *Run) unsettled() bool {
	met := true
	for _, c := range r.Result.Checks {
		if c.Outcome == evidence.Unknown && c.Name != evidence.Assumptions {
			return false
		}
		met = met && c.Outcome != evidence.Unknown
	}
	return !met && r.Result.Verdict == evidence.Unknown && !r.threshold(evidence.Unknown)
}

// unusable says why the run is not a sample although its directory is complete; "" if it is one.
func (r *Run) unusable() string {
	switch {
	case r.Result.Partial:
		return r.Name + " is a partial run"
	case len(r.violations()) > 0:
		return r.Name + " failed its checks"
	case r.Result.Verdict == evidence.Unknown && (r.uncertain() || !r.threshold(evidence.Unknown)):
		return r.Name + " is unknown: it did not reach what it set out to test"
	case r.Result.Operations.Acquired <= 0:
		return r.Name + " acquired nothing"
	case r.Result.Throughput.AcquiredPerS == nil: // no measured window
		return r.Name + " has no throughput: it never measured"
	}
	return ""
}

// A Difference is how a number of one run differs from that of another. It is no verdict, because two runs do not show
// how much runs of one kind differ from each other.
type Difference struct {
	// Text is the ratio or the difference of the second run's number to the first one's; "" if one of them is missing.
	Text string
	// Worse and Better say that it differs in that direction by more than what a comparison of many runs accepts.
	Worse, Better bool
}

// Differ compares a number of two runs.
func Differ(q result.Quantity, base, head *float64) (d Difference) {
	if base == nil || head == nil {
		return d
	}
	by, tolerance := Interval{Estimate: *head - *base}, q.Compared.Tolerance
	switch {
	case *head == *base:
		return Difference{Text: "the same"}
	case q.Compared.Difference && q.Unit == result.Share:
		d.Text = fmt.Sprintf("%+.3g points", 100*by.Estimate)
	case !q.Compared.Difference && *base > 0 && *head > 0:
		by.Estimate = *head / *base
		tolerance = max(tolerance, q.Compared.Resolution / *base)
		d.Text = fmt.Sprintf("×%.3g", by.Estimate)
	default:
		size, sign := math.Abs(by.Estimate), "+"
		if by.Estimate < 0 {
			sign = "−"
		}
		if d.Text = sign + q.Show(&size); !q.Compared.Difference {
			return d // there is no ratio to judge
		}
	}
	if q.Compared != (result.Comparison{}) {
		lost, _, _ := loss(q, by)
		gained := -lost
		if !q.Compared.Difference {
			gained /= 1 + lost // a latency that halves is a gain of 100 %, as one that doubles is a loss of 100 %
		}
		d.Worse, d.Better = lost > tolerance, gained > tolerance
	}
	return d
}

// Differences returns the keys in which the configurations of two runs differ. Names, ids, times, the seed and the code
// that was run are no part of a configuration.
func Differences(base, head Run) []Mismatch { return mismatches(base.Config, head.Config) }
