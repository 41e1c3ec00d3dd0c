package serve

import (
	"fmt"
	"net/http"
	"strings"

	"locklab/harness/untrusted"
	"locklab/reports/compare"
	"locklab/reports/result"
)

// A compareView is the page with two runs side by side.
type compareView struct {
	frameView
	Runs     [2]*run
	Swap     string // the address of the comparison the other way round
	Problems []string
	Main     []compareRow // the numbers by which runs are compared
	Others   []compareRow
	Settings []compare.Mismatch
	Known    bool // Settings are known
	Same     bool // they are the same run
	Pictures bool
}

// A compareRow is a number of both runs.
type compareRow struct {
	Name, Means string
	Values      [2]string
	compare.Difference
}

// compare answers with two runs side by side.
func (s *Server) compare(w http.ResponseWriter, r *http.Request) {
	names := r.URL.Query()["run"]
	if len(names) != 2 {
		s.problem(w, http.StatusBadRequest, "Choose two runs", fmt.Sprintf(
			"A comparison has two runs, and %d were chosen. Tick two runs in the list.", len(names)))
		return
	}
	v := compareView{Swap: compareURL(names[1], names[0]), Same: names[0] == names[1]}
	for i, name := range names {
		one, known, err := s.index.one(s.root, name)
		switch {
		case err != nil:
			s.problem(w, http.StatusInternalServerError, "The directory cannot be read", err.Error())
			return
		case !known:
			s.problem(w, http.StatusNotFound, "There is no such run", untrusted.Line(name)+" is not a run below "+s.dir+".")
			return
		}
		v.Runs[i] = &one
		v.Pictures = v.Pictures || one.Picture
	}
	v.frameView = s.frame(v.Runs[0].Title()+" and "+v.Runs[1].Title(), "", filter{})
	v.numbers()
	v.settings(s)
	show(w, http.StatusOK, "compare", v)
}

// numbers fills in the numbers that one of the runs has at least.
func (v *compareView) numbers() {
	for _, q := range result.Quantities() {
		a, b := q.Value(&v.Runs[0].Result), q.Value(&v.Runs[1].Result)
		if a == nil && b == nil || a != nil && b != nil && *a == 0 && *b == 0 && q.Compared == (result.Comparison{}) {
			continue
		}
		row := compareRow{Name: q.Name(), Means: q.Means, Values: [2]string{q.Show(a), q.Show(b)},
			Difference: compare.Differ(q, a, b)}
		if q.Compared != (result.Comparison{}) || q.Tile != "" {
			v.Main = append(v.Main, row)
		} else {
			v.Others = append(v.Others, row)
		}
	}
}

// settings fills in what the configurations of the runs differ in.
func (v *compareView) settings(s *Server) {
	var both [2]compare.Run
	v.Known = true
	for i, r := range v.Runs {
		var err error
		both[i], err = compare.ReadRun(s.root.FS(), r.Name, r.Shown())
		if err != nil {
			v.Problems = append(v.Problems, strings.TrimPrefix(untrusted.Line(err.Error()), compare.ErrInput.Error()+": "))
			v.Known = false
		}
	}
	if v.Known {
		v.Settings = compare.Differences(both[0], both[1])
		untrusted.Lines(&v.Settings)
	}
}
