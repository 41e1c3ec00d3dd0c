package series

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"locklab/harness/rundir"
	"locklab/reports/runpage"
)

// setup lists the names and values of what all runs of a sweep have in common: load, ensemble and machine, and when
// they were made.
func (p *SweepPlan) setup(dir string) ([][2]string, error) {
	var common [][2]string
	var first, last time.Time
	for i := range p.Points {
		sc, err := p.scenario(i)
		if err != nil {
			return nil, err
		}
		point := filepath.Dir(p.runDir(dir, i, 1))
		entries, err := os.ReadDir(point)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, e := range entries {
			env, err := rundir.ReadEnv(filepath.Join(point, e.Name()))
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, err
			}
			if at := time.Unix(0, env.StartedUnixNs); env.StartedUnixNs > 0 {
				if first.IsZero() || at.Before(first) {
					first = at
				}
				if at.After(last) {
					last = at
				}
			}
			all := runpage.Environment(sc, env)
			if common == nil {
				common = all
			}
			common = slices.DeleteFunc(common, func(f [2]string) bool { return !slices.Contains(all, f) })
		}
	}
	named := map[string]string{rateKey: "rate, a second", locksKey: locksKey, clientsKey: clientsKey}[p.Over]
	common = slices.DeleteFunc(common, func(f [2]string) bool {
		return f[0] == named || f[0] == "started" || f[0] == "ensemble ready after"
	})
	if !first.IsZero() {
		common = append(common, [2]string{"measured", fmt.Sprintf("runs begun from %s to %s",
			first.UTC().Format(time.RFC3339), last.UTC().Format(time.RFC3339))})
	}
	return common, nil
}
