package serve

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"locklab/reports/result"
)

// pageRuns is the most runs on one page.
const pageRuns = 200

// listNumbers are the numbers in the list, and what they are called there.
var listNumbers = [...]struct{ Name, Label string }{
	{"acquired_per_s", "acquired/s"}, {"acquire.p50", "median"}, {"acquire.p99", "p99"}, {"overlaps", "overlaps"},
}

// A listView is the page with the list of runs.
type listView struct {
	frameView
	Filter       filterView
	Columns      []string
	Rows         []listRow
	Found, All   int
	From, To     int
	Newer, Older string // addresses
	Pages        []string
}

// A listRow is a run in the list.
type listRow struct {
	*run
	Numbers []string
}

// list answers with the list of runs.
func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	f, bad := filterOf(r.URL.Query())
	all, pages, err := s.index.all(s.root)
	switch {
	case bad != nil:
		s.problem(w, http.StatusBadRequest, "This is not a filter", bad.Error())
		return
	case err != nil:
		s.problem(w, http.StatusInternalServerError, "The directory cannot be read", err.Error())
		return
	}
	chosen := f.of(all)
	v := listView{frameView: s.frame("Runs", "/", f), Filter: f.view(all), Found: len(chosen), All: len(all),
		Pages: pages}
	for _, n := range listNumbers {
		v.Columns = append(v.Columns, n.Label)
	}
	n, _ := strconv.Atoi(r.URL.Query().Get("page")) // a page that is no number is the first one
	last := max(0, (len(chosen)-1)/pageRuns)
	n = min(max(n, 0), last)
	address := func(n int) string {
		q := f.query()
		q.Set("page", strconv.Itoa(n))
		return "/?" + q.Encode()
	}
	if n > 0 {
		v.Newer = address(n - 1)
	}
	if n < last {
		v.Older = address(n + 1)
	}
	v.From, v.To = n*pageRuns+1, min(len(chosen), (n+1)*pageRuns)
	for i := n * pageRuns; i < v.To; i++ {
		v.Rows = append(v.Rows, listRow{&chosen[i], numbersOf(&chosen[i])})
	}
	show(w, http.StatusOK, "list", v)
}

// numbersOf returns the numbers of a run in the list; nothing where it has none.
func numbersOf(r *run) (all []string) {
	for _, n := range listNumbers {
		q, known := result.Named(n.Name)
		if v := q.Value(&r.Result); known && v != nil {
			all = append(all, q.Show(v))
		} else {
			all = append(all, "")
		}
	}
	return all
}

// Link is where the run's name leads to; empty if it leads nowhere.
func (r *run) Link() string {
	switch {
	case r.State == running:
		return liveURL(r.Name)
	case r.Report:
		return fileURL(r.Name, "report.html")
	case r.Why == "":
		return fileURL(r.Name, "result.json")
	}
	return ""
}

// Summary says how many runs there are.
func (v listView) Summary() string {
	runs := func(n int) string {
		if n == 1 {
			return "one run"
		}
		return fmt.Sprintf("%d runs", n)
	}
	switch {
	case v.All == 0:
		return "There are no runs in this directory."
	case v.Found == 0:
		return fmt.Sprintf("None of %s is like this.", runs(v.All))
	case v.Found == v.All && v.Found <= pageRuns:
		return runs(v.All) + ", the latest first"
	case v.Found <= pageRuns:
		return fmt.Sprintf("%s of %d, the latest first", runs(v.Found), v.All)
	}
	return fmt.Sprintf("%d to %d of %s, the latest first", v.From, v.To, runs(v.Found))
}

// compareURL is the address of the comparison of two runs.
func compareURL(base, head string) string {
	return "/compare?" + url.Values{"run": {base, head}}.Encode()
}
