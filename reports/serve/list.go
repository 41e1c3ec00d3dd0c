package serve

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"locklab/harness/check/evidence"
	"locklab/reports/result"
	"locklab/reports/words"
)

// pageRuns is the most runs on one page.
const pageRuns = 200

// listNumbers are the numbers in the list, and what they are called there.
var listNumbers = [...]struct{ Name, Label string }{
	{"acquired_per_s", "acquired/s"}, {"acquire.p50", "median"}, {"acquire.p99", "p99"}, {"overlaps", "overlaps"},
}

// listSettings are the settings in the list, where the runs that it shows differ in them.
var listSettings = [...]struct {
	Label string
	of    func(*result.Result) string
}{
	{"recipe", func(r *result.Result) string { return r.Recipe }},
	{"guard", func(r *result.Result) string { return r.Guard }},
	{"clients", func(r *result.Result) string { return countOf(r.Clients) }},
	{"locks", func(r *result.Result) string { return countOf(r.Locks) }},
	{"offered/s", func(r *result.Result) string {
		if r.Throughput.OfferedPerS == nil {
			return ""
		}
		return words.Digits3(*r.Throughput.OfferedPerS)
	}},
}

// countOf writes a setting that is a number, which is 0 where the run does not tell it.
func countOf(n int) string {
	if n == 0 {
		return ""
	}
	return words.Grouped(int64(n))
}

// differing returns the indexes of the settings in which runs differ.
func differing(all []run) (which []int) {
	for i, s := range listSettings {
		values := map[string]bool{}
		for k := range all {
			if all[k].Why == "" {
				values[s.of(&all[k].Result)] = true
			}
		}
		if len(values) > 1 {
			which = append(which, i)
		}
	}
	return which
}

// A listView is the page with the list of runs.
type listView struct {
	frameView
	Filter       filterView
	Settings     []string // the settings in which the runs differ
	Columns      []string
	Rows         []listRow
	Found, All   int
	From, To     int
	Newer, Older string // addresses
	Pages        []page
}

// A listRow is a run in the list.
type listRow struct {
	*run
	Settings []string
	Numbers  []string
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
	shown := differing(chosen)
	for _, i := range shown {
		v.Settings = append(v.Settings, listSettings[i].Label)
	}
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
		row := listRow{run: &chosen[i], Numbers: numbersOf(&chosen[i])}
		for _, k := range shown {
			row.Settings = append(row.Settings, listSettings[k].of(&chosen[i].Result))
		}
		v.Rows = append(v.Rows, row)
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

// Verdict is what has become of the run, as the list says it.
func (r *run) Verdict() string {
	if r.State == state(result.AsExpected) {
		return r.Result.Heading()
	}
	return r.State.Text()
}

// Reason says in short why nothing is known of the run; empty if something is.
func (r *run) Reason() string {
	if r.State != state(result.Inconclusive) {
		return r.Why
	}
	for _, c := range r.Result.Checks {
		if c.Outcome == evidence.Unknown {
			return short(words.Upper(result.PlainName(c.Name)) + ": " + c.Summary)
		}
	}
	return short(r.Result.Headline)
}

// short returns the beginning of a text that is too long for a list, up to a whole word.
func short(text string) string {
	if all := []rune(text); len(all) > 200 {
		begun := string(all[:200])
		return begun[:max(0, strings.LastIndex(begun, " "))] + "…"
	}
	return text
}

// Class is the class of the verdict's text. A pass that allowed damage is not shown as a sound lock's.
func (r *run) Class() string {
	if r.State.Judged() {
		return state(r.Result.OutcomeClass()).Class()
	}
	return r.State.Class()
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
	runs := func(n int) string { return words.Count(int64(n), "run") }
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
