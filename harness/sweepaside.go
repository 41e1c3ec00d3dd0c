package harness

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"locklab/harness/check"
	"locklab/reports"
)

// unfinishedDir has, by point, what is left of runs that did not end and were run again.
const unfinishedDir = "unfinished"

// violated reports whether a check of a run failed.
func violated(r reports.Result) bool {
	return slices.ContainsFunc(r.Checks, func(c reports.CheckLine) bool { return c.Outcome == check.Fail })
}

// settled reports whether a search goes by the n-th probe of a point although it is partial: it saw a
// violation, or the search went on after it, by a rate that follows from its coming to nothing.
func (p *SweepPlan) settled(dir string, point, n int, r reports.Result) bool {
	_, err := os.Stat(p.runDir(dir, point, n+1))
	return err == nil || violated(r)
}

// asideDir is where a point's runs that did not end are put.
func (p *SweepPlan) asideDir(dir string, point int) string {
	return filepath.Join(dir, unfinishedDir, p.Points[point].Name)
}

// putAside makes room for a point's n-th run. What is left of one that did not end is no measurement, but
// what it saw is evidence.
func (p *SweepPlan) putAside(dir string, point, n int) error {
	from := p.runDir(dir, point, n)
	if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := os.MkdirAll(p.asideDir(dir, point), 0o755); err != nil {
		return err
	}
	for k := 1; ; k++ {
		to := filepath.Join(p.asideDir(dir, point), fmt.Sprintf("%02d-%d", n, k))
		if _, err := os.Stat(to); errors.Is(err, fs.ErrNotExist) {
			return os.Rename(from, to)
		} else if err != nil {
			return err
		}
	}
}

// aside reads a point's runs that did not end and were put aside.
func (p *SweepPlan) aside(dir string, point int) ([]reports.SweepRun, error) {
	at := p.asideDir(dir, point)
	entries, err := os.ReadDir(at)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []reports.SweepRun
	for _, e := range entries {
		name := filepath.Join(at, e.Name())
		r, err := loadResult(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it had hardly begun
		}
		if err != nil {
			return nil, err
		}
		all = append(all, reports.SweepRun{Dir: relative(dir, name), Result: r})
	}
	return all, nil
}
