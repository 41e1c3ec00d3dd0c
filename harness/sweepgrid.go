package harness

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"locklab/harness/scenario"
)

// canonical has each value as a scenario writes it, as points do: 4000ms is 4s. Those that no scenario takes are left
// to the grid, which says so.
func (p *SweepPlan) canonical(base *scenario.Scenario) error {
	p.Params = slices.Clone(p.Params)
	for i, param := range p.Params {
		var values []string
		for _, v := range param.Values {
			as := v
			if sc := base.Clone(); sc.Set(param.Key, v) == nil {
				as = sc.Text(param.Key)
			}
			if slices.Contains(values, as) {
				return &scenario.InputError{Flag: paramFlag + " " + param.Key + "=" + strings.Join(param.Values, ","), Msg: fmt.Sprintf("%s is given twice, as %s too", as, v), Hint: givenTwiceHint}
			}
			values = append(values, as)
		}
		p.Params[i].Values = values
	}
	return nil
}

// grid makes the points: every combination of values, the last parameter's first.
func (p *SweepPlan) grid(base *scenario.Scenario) error {
	combinations := 1
	for i, param := range p.Params {
		if slices.ContainsFunc(p.Params[:i], func(o Param) bool { return o.Key == param.Key }) {
			return &scenario.InputError{Flag: paramFlag, Msg: param.Key + " is given twice", Hint: "one list of values: " + param.Key + "=1..8,100"}
		}
		if param.Key == "seed" {
			return &scenario.InputError{Flag: paramFlag, Msg: "seed is not to be varied", Hint: "--repeat runs each point again, each time with a seed of its own"}
		}
		if combinations *= len(param.Values); combinations > maxRuns {
			return &scenario.InputError{Flag: paramFlag, Msg: fmt.Sprintf("the grid has more than %d points", maxRuns), Hint: "fewer values, such as a range that doubles"}
		}
	}
	var errs []error
	seen := map[string]bool{}
	for i := range combinations {
		point, err := p.point(base, i)
		if err != nil {
			if slices.ContainsFunc(errs, func(e error) bool { return e.Error() == err.Error() }) {
				continue // a value that is wrong in one point is in all
			}
			errs = append(errs, err)
			if len(errs) == maxErrors {
				errs = append(errs, errors.New("and perhaps more"))
				break
			}
			continue
		}
		// Values of a key that a point's workload does not have make no other point.
		if !seen[point.Source] {
			seen[point.Source] = true
			p.Points = append(p.Points, point)
		}
	}
	return errors.Join(errs...)
}

// maxErrors is how many points are refused with a message each.
const maxErrors = 10

// point makes the i-th combination.
func (p *SweepPlan) point(base *scenario.Scenario, i int) (PlannedPoint, error) {
	sc := base.Clone()
	values := make([]string, len(p.Params))
	for k, param := range slices.Backward(p.Params) {
		values[k] = param.Values[i%len(param.Values)]
		i /= len(param.Values)
	}
	varied := func(key string) int { return slices.IndexFunc(p.Params, func(o Param) bool { return o.Key == key }) }
	set := func(k int) error {
		param := p.Params[k]
		if err := sc.Set(param.Key, values[k]); err != nil {
			return &scenario.InputError{Flag: paramFlag + " " + param.Key + "=" + values[k], Msg: strings.TrimPrefix(err.Error(), "--"+param.Key+": ")}
		}
		return nil
	}
	w := varied("workload")
	if w >= 0 {
		if err := set(w); err != nil {
			return PlannedPoint{}, err
		}
		sc.DropOtherWorkloads()
	}
	point := PlannedPoint{Values: map[string]string{}}
	var names []string
	for k, param := range p.Params {
		if w >= 0 && !sc.Serves(param.Key) {
			continue
		}
		if k != w {
			if err := set(k); err != nil {
				return PlannedPoint{}, err
			}
		}
		point.Values[param.Key] = sc.Text(param.Key)
		names = append(names, param.Key+"="+sc.Text(param.Key))
	}
	if varied("client-processes") < 0 {
		// One client for each process is the least, and a grid of clients may well begin with one.
		sc.ClientProcesses = min(sc.ClientProcesses, max(sc.Clients, 1))
	}
	at := "at the point " + or(strings.Join(names, " "), "without parameters")
	if err := Validate(sc); err != nil {
		return PlannedPoint{}, &scenario.InputError{Flag: paramFlag, Msg: at + ": " + strings.ReplaceAll(err.Error(), "\n", "; ")}
	}
	if err := supportedLab(sc); err != nil {
		return PlannedPoint{}, fmt.Errorf("%s: %w", at, err)
	}
	sc.Seed = 0
	point.Name, point.Source = folder(names, sc.Name), string(sc.Marshal())
	return point, nil
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// folder makes a name for a file out of a point's values.
func folder(names []string, otherwise string) string {
	const longest = 120
	name := strings.Map(func(r rune) rune {
		if strings.ContainsRune("/\\:*?\"<>| ", r) || r < ' ' || r > '~' {
			return '_'
		}
		return r
	}, strings.Join(names, ","))
	if len(name) > longest {
		name = name[:longest]
	}
	return or(name, otherwise)
}
