package rundir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"locklab/ensembles"
)

// WriteCounters writes the servers' counters, by server and by name, as a snapshot.
func WriteCounters(dir string, snapshot Snapshot, counters map[string]map[string]float64) error {
	var errs []error
	for server, all := range counters {
		name := filepath.Join(HostDir(dir, server), string(snapshot))
		errs = append(errs, replaceWith(name, []byte(ensembles.FormatMetrics(all))))
	}
	return errors.Join(errs...)
}

// readCounters reads a snapshot of the servers' counters; nil if there is none.
func readCounters(dir string, snapshot Snapshot) map[string]map[string]float64 {
	names, err := fs.Glob(os.DirFS(dir), filepath.Join(hostsDir, "*", string(snapshot)))
	if err != nil || len(names) == 0 {
		return nil
	}
	all := map[string]map[string]float64{}
	for _, name := range names {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			continue
		}
		all[filepath.Base(filepath.Dir(name))] = ensembles.ParseMetrics(string(b))
	}
	return all
}
