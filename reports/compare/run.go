package compare

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"

	"locklab/harness/check"
	"locklab/reports"
)

// ErrInput says that what was to be compared is not what can be: it is missing,
// damaged, of another kind, or the two are of different configurations.
var ErrInput = errors.New("cannot compare")

// The files of a run directory that are read.
const (
	resultFile   = "result.json"
	scenarioFile = "scenario.yaml"
	envFile      = "env.json"
)

// A Run is one sample.
type Run struct {
	// Name is the run directory, as it was named.
	Name string
	// Result is what it came to.
	Result reports.Result
	// Config is its resolved scenario and its environment, flat: scenario.clients,
	// scenario.faults[0].kind, env.kernel.
	Config map[string]string
	// StartedUnixNs is when it began, by which runs are in order; with Lab and
	// seed it is the run's identity.
	StartedUnixNs int64
	// Locklab is the revision of the binary that ran it, Clients what its client processes ran if that was
	// another binary, and Lock what a lock that is not ours consists of: what a comparison is often about.
	Locklab, Clients, Lock string

	lab string
}

// environment is the part of env.json that is read by name.
type environment struct {
	LabID         string `json:"lab_id"`
	Locklab       string `json:"locklab"`
	ClientBinary  string `json:"client_binary"`
	Lock          string `json:"lock"`
	StartedUnixNs int64  `json:"started_unix_ns"`
}

// readRun reads the run directory dir of fsys, which is called name.
func readRun(fsys fs.FS, dir, name string) (Run, error) {
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
	if err := read(resultFile, func(b []byte) error { return decodeResult(b, &run.Result) }); err != nil {
		return run, err
	}
	// What is known of a run that cannot be compared is still worth returning: it
	// may have found a violation.
	var env environment
	err := errors.Join(
		read(scenarioFile, func(b []byte) error { return flattenYAML("scenario", b, run.Config) }),
		read(envFile, func(b []byte) error {
			if err := flattenJSON("env", b, run.Config); err != nil {
				return err
			}
			if err := json.Unmarshal(b, &env); err != nil {
				return err
			}
			if env.StartedUnixNs <= 0 {
				return errors.New("started_unix_ns is missing")
			}
			return nil
		}))
	run.StartedUnixNs, run.Locklab, run.Clients, run.Lock, run.lab = env.StartedUnixNs, env.Locklab, env.ClientBinary, env.Lock, env.LabID
	return run, err
}

// decodeResult reads a result.json and refuses what no run writes.
func decodeResult(b []byte, r *reports.Result) error {
	var version struct {
		SchemaVersion *int `json:"schema_version"`
	}
	if err := json.Unmarshal(b, &version); err != nil {
		return err
	}
	switch v := version.SchemaVersion; {
	case v == nil:
		return errors.New("it has no schema_version: not the result of a run")
	case *v != reports.SchemaVersion:
		return fmt.Errorf("schema_version is %d, and this locklab reads %d; run the matching locklab check again", *v, reports.SchemaVersion)
	}
	var read reports.Result
	if err := json.Unmarshal(b, &read); err != nil {
		return err
	}
	if !slices.Contains([]check.Result{check.Pass, check.Fail, check.Unknown}, read.Verdict) {
		return fmt.Errorf("verdict is %q", read.Verdict)
	}
	for _, m := range Metrics() {
		if v := m.Of(&read); v != nil && (*v < 0 || math.IsNaN(*v) || math.IsInf(*v, 0)) {
			return fmt.Errorf("%s is %v", m.Name, *v)
		}
	}
	if err := judged(&read); err != nil {
		return err
	}
	*r = read
	return nil
}

// judged says what is wrong with the verdict of a result: it has none by checks, or passed though one of them did not
// settle. One that failed is a violation, whatever the verdict says.
func judged(r *reports.Result) error {
	if r.Partial {
		return nil // no sample anyway
	}
	if len(r.Checks) == 0 {
		return errors.New("it has no checks, so nothing is known of the lock's safety; run locklab check again")
	}
	for _, c := range r.Checks {
		if c.Outcome == check.Unknown && r.Verdict == check.Pass {
			return fmt.Errorf("its verdict is %s, and its check %s came out as %s", r.Verdict, c.Name, c.Outcome)
		}
	}
	return nil
}

// violations says what in the run is a violation that its scenario does not expect.
func (r *Run) violations() []string {
	var all []string
	for _, c := range r.Result.Checks {
		if c.Outcome == check.Fail {
			all = append(all, fmt.Sprintf("%s: %s: %s", r.Name, c.Name, c.Summary))
		}
	}
	if len(all) == 0 && r.Result.Verdict == check.Fail && !r.threshold(check.Fail) {
		all = append(all, r.Name+": its verdict is fail")
	}
	return all
}

// threshold reports whether a threshold came out like that. A run that missed one is a sample like
// any other: it is compared with its base, not with a limit.
func (r *Run) threshold(like check.Result) bool {
	return slices.ContainsFunc(r.Result.Thresholds, func(l reports.ThresholdLine) bool { return l.Verdict == like })
}

// uncertain reports whether a check came to no result.
func (r *Run) uncertain() bool {
	return slices.ContainsFunc(r.Result.Checks, func(c reports.CheckLine) bool { return c.Outcome == check.Unknown })
}

// unusable says why the run is no sample, though it is a whole run directory; ""
// if it is one.
func (r *Run) unusable() string {
	switch {
	case r.Result.Partial:
		return r.Name + " is a partial run"
	case len(r.violations()) > 0:
		return r.Name + " failed its checks"
	case r.Result.Verdict == check.Unknown && (r.uncertain() || !r.threshold(check.Unknown)):
		return r.Name + " is unknown: it did not reach what it set out to test"
	case r.Result.Operations.Acquired <= 0:
		return r.Name + " acquired nothing"
	case r.Result.Throughput.AcquiredPerS == nil: // no measured window
		return r.Name + " has no throughput: it never measured"
	}
	return ""
}
