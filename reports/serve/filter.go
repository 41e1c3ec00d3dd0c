package serve

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"time"

	"locklab/harness/untrusted"
	"locklab/reports/measure"
)

// A filter chooses runs. An empty field leaves the choice open.
type filter struct {
	Scenario, Recipe string
	State            state
	From, To         string // the first and the last day, as 2006-01-02 in local time

	from, until time.Time // the first instant, and the first one that is too late; zero = any
}

// filterOf reads a filter from a query.
func filterOf(q url.Values) (f filter, err error) {
	f = filter{Scenario: untrusted.Line(q.Get("scenario")), Recipe: untrusted.Line(q.Get("recipe")),
		State: state(q.Get("verdict")), From: q.Get("from"), To: q.Get("to")}
	day := func(text string) time.Time {
		t, bad := time.ParseInLocation(time.DateOnly, text, time.Local)
		if text != "" && bad != nil {
			err = fmt.Errorf("%q is not a day; write it like 2026-01-31", untrusted.Line(text))
		}
		return t
	}
	f.from = day(f.From)
	if f.until = day(f.To); !f.until.IsZero() {
		f.until = f.until.AddDate(0, 0, 1)
	}
	return f, err
}

func (f filter) query() url.Values {
	q := url.Values{}
	for name, v := range map[string]string{"scenario": f.Scenario, "recipe": f.Recipe, "verdict": string(f.State),
		"from": f.From, "to": f.To} {
		if v != "" {
			q.Set(name, v)
		}
	}
	return q
}

func (f filter) of(all []run) (chosen []run) {
	for i := range all {
		r := &all[i]
		if (f.Scenario == "" || r.Result.Scenario == f.Scenario) && (f.Recipe == "" || r.Result.Recipe == f.Recipe) &&
			(f.State == "" || r.State == f.State) && (f.from.IsZero() || !r.Started.Before(f.from)) &&
			(f.until.IsZero() || r.Started.Before(f.until)) {
			chosen = append(chosen, *r)
		}
	}
	return chosen
}

// An option is an entry of a list of choices.
type option struct {
	Value, Text string
	Selected    bool
}

// A filterView is a filter with what can be chosen.
type filterView struct {
	filter
	Scenarios, Recipes, States []option
	Any                        bool // something is chosen
}

// view returns the filter with what there is to choose among runs.
func (f filter) view(all []run) filterView {
	v := filterView{filter: f, Any: len(f.query()) > 0}
	scenarios, recipes, found := map[string]bool{}, map[string]bool{}, map[state]bool{}
	for i := range all {
		scenarios[all[i].Result.Scenario], recipes[all[i].Result.Recipe] = true, true
		found[all[i].State] = true
	}
	v.Scenarios, v.Recipes = options(scenarios, f.Scenario), options(recipes, f.Recipe)
	for _, s := range states {
		if found[s.State] || s.State == f.State {
			v.States = append(v.States, option{string(s.State), s.Text, s.State == f.State})
		}
	}
	return v
}

// options returns the choices of names, with the one that was chosen even if no run has it.
func options(names map[string]bool, chosen string) (all []option) {
	names[chosen] = true
	for _, n := range slices.SortedFunc(maps.Keys(names), measure.CompareNatural) {
		if n != "" {
			all = append(all, option{n, n, n == chosen})
		}
	}
	return all
}
