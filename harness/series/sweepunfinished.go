package series

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"locklab/reports/result"
	"locklab/reports/sweep"
)

// unfinishedDir has, by point, the directories of runs that broke off and were run again.
const unfinishedDir = "unfinished"

// trialCounts reports whether a search uses the n-th trial of a point although it is partial. It does so if the trial
// saw a violation, or if the search went on after it, because then the next trial follows from it.
func (p *SweepPlan) trialCounts(dir string, point, n int, r result.Result) bool {
	_, err := os.Stat(p.runDir(dir, point, n+1))
	return err == nil || sweep.FailedCheck(&r) != ""
}

// pointUnfinishedDir returns the directory of a point's runs that broke off and were run again.
func (p *SweepPlan) pointUnfinishedDir(dir string, point int) string {
	return filepath.Join(dir, unfinishedDir, p.Points[point].Name)
}

// moveUnfinished makes room for a point's n-th run. A run that broke off measured nothing, but a violation that it saw
// is evidence, so it is kept.
func (p *SweepPlan) moveUnfinished(dir string, point, n int) error {
	from := p.runDir(dir, point, n)
	if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := os.MkdirAll(p.pointUnfinishedDir(dir, point), 0o755); err != nil {
		return err
	}
	for k := 1; ; k++ {
		to := filepath.Join(p.pointUnfinishedDir(dir, point), fmt.Sprintf("%02d-%d", n, k))
		if _, err := os.Stat(to); errors.Is(err, fs.ErrNotExist) {
			return os.Rename(from, to)
		} else if err != nil {
			return err
		}
	}
}

// readUnfinished reads a point's runs that broke off and were run again.
func (p *SweepPlan) readUnfinished(dir string, point int) ([]sweep.Run, error) {
	at := p.pointUnfinishedDir(dir, point)
	entries, err := os.ReadDir(at)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []sweep.Run
	for _, e := range entries {
		name := filepath.Join(at, e.Name())
		r, err := result.Read(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it ended before it wrote a result
		}
		if err != nil {
			return nil, err
		}
		all = append(all, sweep.Run{Dir: relative(dir, name), Result: r})
	}
	return all, nil
}
