package advice

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"locklab/harness/scenario"
	"locklab/harness/untrusted"
)

var (
	// logName is the name of a file that may be a GC log.
	logName = regexp.MustCompile(`(?i)^[^.].*\.log\b|^[^.]*gc`)
	// rotated is what rotation adds to the name of a log. The JVM numbers files in turn, logrotate from the newest on or
	// by date.
	rotated = regexp.MustCompile(`(?i)(\.\d+|\.current|-\d{8}(-?\d+)?)*(\.gz)?$`)
)

// readDir reads the logs of a directory. The files of one name, but for what rotation adds to it, are one log; in which
// order their lines were written is known by their times. Files without pauses are left out.
func readDir(dir string) (Pauses, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return Pauses{}, fmt.Errorf("%s: %w", flag, err)
	}
	refuse := func(msg string) error {
		return &scenario.InputError{File: untrusted.Line(dir), Msg: msg, Hint: "files of a directory are read if their " +
			"names have gc or .log in them; hiccups.hlog of a run is given by its own name"}
	}
	var (
		notes []string
		order []string
		files = map[string][]string{}
	)
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() || !logName.MatchString(name) {
			continue
		}
		path := filepath.Join(dir, name)
		if plain, ok := strings.CutSuffix(path, ".gz"); ok {
			if _, err := os.Stat(plain); err == nil {
				notes = append(notes, untrusted.Line(path)+" was left out, because it is there without .gz too")
				continue
			}
		}
		base := rotated.ReplaceAllString(name, "")
		if files[base] == nil {
			order = append(order, base)
		}
		files[base] = append(files[base], path)
	}
	if len(order) == 0 {
		return Pauses{}, refuse("no file of the directory is a GC log")
	}
	var all []Pauses
	for _, base := range order {
		p, skipped, err := readSeries(filepath.Join(dir, base), files[base])
		if err != nil {
			return Pauses{}, err
		}
		for _, name := range skipped {
			notes = append(notes, untrusted.Line(name)+" was left out, because it has no pauses")
		}
		if p.Count() > 0 {
			all = append(all, p)
		}
	}
	if len(all) == 0 {
		return Pauses{}, refuse("not one file of the directory tells a pause")
	}
	whole := all[0]
	for _, p := range all[1:] {
		whole.join(p)
	}
	whole.Source, whole.Notes = dir, slices.Concat(notes, whole.Notes)
	return whole, nil
}

// readSeries reads the files of one log. It returns the names of files that have nothing to do with pauses.
func readSeries(name string, files []string) (p Pauses, skipped []string, err error) {
	g := newGCLog()
	for _, file := range files {
		err := withFile(file, func(in *lines) error {
			if in.isEmpty() {
				skipped = append(skipped, file)
				return nil
			}
			return g.read(in)
		})
		if err != nil {
			return Pauses{}, nil, err
		}
	}
	p, err = g.pauses(name)
	if len(g.safepoints.lengths)+len(g.collections.lengths) == 0 && !g.knowsWhy() {
		return Pauses{}, files, nil
	}
	p.order()
	return p, skipped, err
}
