package index

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"locklab/harness/rundir"
	"locklab/reports/chart"
	"locklab/reports/measure"
	"locklab/reports/result"
	"locklab/reports/words"
)

//go:embed index.html.tmpl
var pageText string

var page = template.Must(template.New("index").Parse(pageText))

const (
	deepest  = 4    // levels of folders below the index in which runs are looked for; a sweep's are 2 below it
	mostRuns = 1000 // that one index lists
)

// A run is what the index knows of a run.
type run struct {
	Name   string // its folder below the index, with slashes
	Result *result.Result
	Link   string // what the run's line leads to, as a relative address
	Why    string // why it cannot be read
}

// A row is a line of the page.
type row struct {
	Name, Link, Class, Outcome, Headline, Rate, P50, P99 string
	Picture                                              template.HTML
}

// Folders are the parts of the row's name.
func (r row) Folders() []string { return strings.Split(r.Name, "/") }

// Update is [Write] for what makes the runs: it does not ask how many there are, and the first may have failed before
// it had a directory.
func Update(dir, title string) error {
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	_, err := Write(dir, title)
	return err
}

// Write replaces the index of the runs below dir, and returns how many there are. Without runs it writes nothing. title
// says what they are, such as "Demonstration".
func Write(dir, title string) (int, error) {
	runs, err := find(dir)
	if err != nil || len(runs) == 0 {
		return 0, err
	}
	found := len(runs)
	runs = runs[:min(found, mostRuns)]
	scale := newScale(runs)
	outcomes := map[string]int64{}
	var rows []row
	for i := range runs {
		r := &runs[i]
		line := row{Name: r.Name, Link: r.Link, Class: "inconclusive", Outcome: "Unknown", Headline: r.Why}
		if r.Result != nil {
			line.Class, line.Outcome = string(r.Result.Outcome), r.Result.Outcome.Heading()
			line.Headline = r.Result.Headline
			if r.Result.Partial {
				line.Outcome += " (partial run)"
			}
			a := &r.Result.Latency.Acquire
			line.Rate = words.Known(r.Result.Throughput.AcquiredPerS, words.Digits3)
			line.P50, line.P99 = words.Known(a.P50Ns, words.Duration), words.Known(a.P99Ns, words.Duration)
			line.Picture = scale.thumbnail(i, r)
		}
		outcomes[line.Outcome]++
		rows = append(rows, line)
	}
	var b bytes.Buffer
	err = page.Execute(&b, map[string]any{"Title": title, "Style": chart.PageStyle, "Rows": rows,
		"Left": found - len(runs), "Tally": tally(outcomes), "Scale": scale.says(), "Report": reportOf(dir)})
	if err == nil {
		err = rundir.WriteIndex(dir, b.Bytes())
	}
	if err != nil {
		return found, fmt.Errorf("index of %s: %w", dir, err)
	}
	return found, nil
}

// Has reports whether there are runs below dir. It reads nothing of them.
func Has(dir string) bool {
	names, err := folders(dir)
	return err == nil && len(names) > 0
}

// find returns the runs below dir, in the natural order of their names.
func find(dir string) ([]run, error) {
	names, err := folders(dir)
	var all []run
	for _, below := range names {
		all = append(all, read(filepath.Join(dir, filepath.FromSlash(below)), below))
	}
	slices.SortFunc(all, func(a, b run) int { return measure.CompareNatural(a.Name, b.Name) })
	return all, err
}

// folders returns the folders of the runs below dir, with slashes.
func folders(dir string) (all []string, err error) {
	err = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || name == dir {
			return err
		}
		below, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		below = filepath.ToSlash(below)
		if rundir.IsRun(name) {
			all = append(all, below)
			return fs.SkipDir
		}
		if strings.Count(below, "/")+1 >= deepest {
			return fs.SkipDir
		}
		return nil
	})
	return all, err
}

// read reads the result of a run, and finds what to lead to: the report, or else the result.
func read(dir, name string) run {
	r := run{Name: name}
	var err error
	if r.Result, err = result.Read(dir); err != nil {
		r.Why = "the result cannot be read"
	}
	for _, file := range []string{rundir.ReportFile, rundir.ResultFile} {
		if _, err := os.Stat(filepath.Join(dir, file)); err == nil && r.Link == "" {
			r.Link = (&url.URL{Path: "./" + path.Join(name, file)}).String()
		}
	}
	return r
}

// reportOf is the address of the folder's own report, such as a sweep's; "" without one.
func reportOf(dir string) string {
	if _, err := os.Stat(rundir.ReportPath(dir)); err != nil {
		return ""
	}
	return rundir.ReportFile
}

// tally says how many runs had each outcome.
func tally(n map[string]int64) string {
	all := slices.Sorted(maps.Keys(n))
	for i, outcome := range all {
		all[i] = words.Grouped(n[outcome]) + " × " + outcome
	}
	return strings.Join(all, ", ")
}
