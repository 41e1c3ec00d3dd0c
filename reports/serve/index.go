package serve

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"locklab/harness/records"
	"locklab/harness/rundir"
	"locklab/harness/untrusted"
	"locklab/reports/compare"
	"locklab/reports/measure"
	"locklab/reports/result"
)

// deepest is how many levels below the directory runs are looked for. Those of a sweep are four levels below its
// folder.
const deepest = 8

// An index knows the runs below a directory. It reads a run again only when one of its files has changed.
type index struct {
	mu    sync.Mutex
	runs  map[string]*run
	pages []page
}

// A page is a report of several runs.
type page struct {
	File     string // its path below the directory, with slashes
	Kind     string
	Headline string // empty if nothing says it
}

// kinds are the kinds of reports of several runs, by a file that only they have.
var kinds = []struct{ File, Kind string }{
	{"sweep.json", "sweep or search"}, {"danger.json", "danger curve"}, {compare.DesignFile, "bench"},
}

// A run is what the list knows of a run directory.
type run struct {
	Name    string // its path below the directory, with slashes; "." if it is the directory itself
	State   state
	Why     string // why it cannot be read
	Result  result.Result
	Started time.Time // of a run that never noted it, when its result was written
	Report  bool      // it has a report
	Picture bool      // it has a timeline

	read stamps
}

// stamps tell versions of a run's files apart.
type stamps [2]struct {
	at   time.Time
	size int64
}

// summaryFiles are the files that an index reads.
var summaryFiles = [2]string{rundir.ResultFile, rundir.EnvFile}

// all returns the runs, the latest first, and the reports of others than runs: of sweeps, series and demonstrations.
func (x *index) all(root *os.Root) (runs []run, pages []page, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	known := x.runs
	x.runs, x.pages = map[string]*run{}, nil
	if err := x.walk(root, ".", known, deepest); err != nil {
		return nil, nil, fmt.Errorf("look for runs: %w", err)
	}
	for _, r := range x.runs {
		runs = append(runs, *r)
	}
	slices.SortFunc(runs, func(a, b run) int {
		return cmp.Or(b.Started.Compare(a.Started), measure.CompareNatural(b.Name, a.Name))
	})
	return runs, x.pages, nil
}

// one returns a run, read again if it has changed; false if there is none of that name.
func (x *index) one(root *os.Root, name string) (run, bool, error) {
	x.mu.Lock()
	known := x.runs[name]
	if known != nil {
		x.runs[name] = readRun(root, name, known)
		defer x.mu.Unlock()
		return *x.runs[name], true, nil
	}
	x.mu.Unlock()
	if _, _, err := x.all(root); err != nil {
		return run{}, false, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if r := x.runs[name]; r != nil {
		return *r, true, nil
	}
	return run{}, false, nil
}

// walk notes the runs in a directory and below. Links are not followed, and folders that cannot be read are left out.
func (x *index) walk(root *os.Root, dir string, known map[string]*run, levels int) error {
	entries, err := fs.ReadDir(root.FS(), dir)
	if err != nil {
		if dir == "." {
			return err
		}
		return nil
	}
	has := func(names ...string) bool {
		return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return slices.Contains(names, e.Name()) })
	}
	if has(rundir.ResultFile, rundir.ScenarioFile) {
		x.runs[dir] = readRun(root, dir, known[dir])
		return nil
	}
	for _, file := range []string{indexPage, rundir.ReportFile, compare.DesignFile} {
		if !has(file) {
			continue
		}
		p := page{File: path.Join(dir, file), Kind: "report"}
		for _, k := range kinds {
			if has(k.File) {
				p.Kind = k.Kind
				var says struct{ Headline string }
				_ = readJSON(root, path.Join(dir, k.File), &says) // what has no headline is listed without
				p.Headline = short(untrusted.Line(says.Headline))
				break
			}
		}
		x.pages = append(x.pages, p)
		break
	}
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") && levels > 0 {
			if err := x.walk(root, path.Join(dir, e.Name()), known, levels-1); err != nil {
				return err
			}
		}
	}
	return nil
}

// indexPage is the page of a folder with several runs.
const indexPage = "index.html"

// readRun reads a run, unless it is known already and has not changed.
func readRun(root *os.Root, name string, known *run) *run {
	r := &run{Name: name}
	for i, file := range summaryFiles {
		if info, err := root.Stat(path.Join(name, file)); err == nil {
			r.read[i].at, r.read[i].size = info.ModTime(), info.Size()
		}
	}
	if known == nil || known.read != r.read {
		r.summary(root)
	} else {
		r.Result, r.Started, r.Why = known.Result, known.Started, known.Why
	}
	r.Report = isFile(root, path.Join(name, rundir.ReportFile))
	r.Picture = isFile(root, rundir.TimelinePath(name))
	r.State = r.state(root)
	return r
}

func (r *run) summary(root *os.Root) {
	var env rundir.Env
	err := readJSON(root, path.Join(r.Name, rundir.ResultFile), &r.Result)
	if err == nil {
		if err = records.CheckVersion(r.Result.SchemaVersion, result.SchemaVersion); err != nil {
			err = fmt.Errorf("%s: %w", rundir.ResultFile, err)
		}
	}
	if err != nil {
		r.Result, r.Why = result.Result{}, untrusted.Line(err.Error())
	}
	r.Started = r.read[0].at
	if readJSON(root, path.Join(r.Name, rundir.EnvFile), &env) == nil && env.StartedUnixNs > 0 {
		r.Started = time.Unix(0, env.StartedUnixNs)
	}
	untrusted.Lines(&r.Result)
}

// readJSON decodes a document below a root.
func readJSON(root *os.Root, name string, into any) error {
	f, err := untrusted.OpenIn(root, name, untrusted.Document)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("it has no %s", path.Base(name))
	}
	if err != nil {
		return err
	}
	defer f.Close()
	b, err := untrusted.ReadAll(f, name, untrusted.Document)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, into); err != nil {
		return fmt.Errorf("%s: %w", path.Base(name), err)
	}
	return nil
}

// isFile reports whether there is a regular file of that name below the root.
func isFile(root *os.Root, name string) bool {
	info, err := root.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// Title is what the run is called in lists.
func (r *run) Title() string {
	switch {
	case r.Result.Scenario != "":
		return r.Result.Scenario
	case r.Name == ".":
		return "this directory"
	}
	return untrusted.Line(path.Base(r.Name))
}

// Shown is the run's path as people read it.
func (r *run) Shown() string { return untrusted.Line(r.Name) }

// When is when the run began, as people read it.
func (r *run) When() string {
	if r.Started.IsZero() {
		return "at an unknown time"
	}
	return r.Started.Format("2 Jan 2006, 15:04:05")
}
