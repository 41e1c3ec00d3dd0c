package series

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"locklab/harness/run"
	"locklab/harness/scenario"
	"locklab/reports/result"
	"locklab/reports/sweep"
)

// refuseParams is an error about the parameters of a sweep.
func refuseParams(param, msg, hint string) error {
	return &scenario.InputError{Flag: strings.TrimSpace(paramFlag + " " + param), Msg: msg, Hint: hint}
}

// checkParams writes each value as scenarios do, so that 4000ms is 4s, and refuses a key or a value that is given
// twice. Values that no scenario accepts stay as they are; [SweepPlan.grid] refuses them.
func (p *SweepPlan) checkParams(base *scenario.Scenario) error {
	p.Params = slices.Clone(p.Params)
	combinations := 1
	for i, param := range p.Params {
		if slices.ContainsFunc(p.Params[:i], func(o sweep.Param) bool { return o.Key == param.Key }) {
			return refuseParams("", param.Key+" is given twice", "one list of values: "+param.Key+"=1..8,100")
		}
		if param.Key == "seed" {
			return refuseParams("", "seed cannot be varied", "--repeat runs each point again, each time with another seed")
		}
		if combinations *= len(param.Values); combinations > maxRuns {
			return refuseParams("", fmt.Sprintf("the grid has more than %d points", maxRuns),
				"fewer values, such as a range that doubles")
		}
		var values []string
		for _, v := range param.Values {
			canonical := v
			if sc := base.Clone(); sc.Set(param.Key, v) == nil {
				canonical = sc.Text(param.Key)
			}
			if slices.Contains(values, canonical) {
				twice := canonical + " is given twice"
				if v != canonical {
					twice += ", once as " + v
				}
				return refuseParams(param.Key+"="+strings.Join(param.Values, ","), twice,
					"each value once; --repeat runs all of them again")
			}
			values = append(values, canonical)
		}
		p.Params[i].Values = values
	}
	return nil
}

// leaveResource leaves the resource out of the holds of a sweep, so that they are as long as the scenario says, unless
// the sweep compares what clients do with it.
func leaveResource(base *scenario.Scenario, params []sweep.Param) {
	if !slices.ContainsFunc(params, func(p sweep.Param) bool { return p.Key == "section" || p.Key == "guard" }) {
		base.LeaveResource()
	}
}

// grid makes the points, one for each combination of values. The last parameter varies fastest.
func (p *SweepPlan) grid(base *scenario.Scenario) error {
	combinations := 1
	for _, param := range p.Params {
		combinations *= len(param.Values)
	}
	var errs []error
	seen := map[string]bool{}
	for i := range combinations {
		point, err := p.point(base, i)
		if err != nil {
			if slices.ContainsFunc(errs, func(e error) bool { return e.Error() == err.Error() }) {
				continue // a value that is wrong in one point is wrong in all
			}
			errs = append(errs, err)
			if len(errs) == maxErrors {
				errs = append(errs, errors.New("and perhaps more"))
				break
			}
			continue
		}
		// Different values of a key that the workload of a point does not have make the same point.
		if !seen[point.Source] {
			seen[point.Source] = true
			p.Points = append(p.Points, point)
		}
	}
	return errors.Join(errs...)
}

// maxErrors is the number of points whose errors are reported.
const maxErrors = 10

// point makes the point of the i-th combination of values.
func (p *SweepPlan) point(base *scenario.Scenario, i int) (PlannedPoint, error) {
	sc := base.Clone()
	values := make([]string, len(p.Params))
	for k, param := range slices.Backward(p.Params) {
		values[k] = param.Values[i%len(param.Values)]
		i /= len(param.Values)
	}
	varied := func(key string) int {
		return slices.IndexFunc(p.Params, func(o sweep.Param) bool { return o.Key == key })
	}
	set := func(k int) error {
		param := p.Params[k]
		if err := sc.Set(param.Key, values[k]); err != nil {
			return refuseParams(param.Key+"="+values[k], strings.TrimPrefix(err.Error(), "--"+param.Key+": "), "")
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
		// A process needs at least one client, and a grid of clients may well begin with one client.
		sc.ClientProcesses = min(sc.ClientProcesses, max(sc.Clients, 1))
	}
	if err := result.Validate(sc); err != nil {
		at := cmp.Or(strings.Join(names, " "), "without parameters")
		return PlannedPoint{}, refuseParams("",
			fmt.Sprintf("at the point %s: %s", at, strings.ReplaceAll(err.Error(), "\n", "; ")), "")
	}
	sc.Seed = 0
	point.Name, point.Source = folderName(names, sc.Name), string(sc.Marshal())
	return point, nil
}

// folderName makes the name of a folder out of a point's values.
func folderName(names []string, otherwise string) string {
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
	return cmp.Or(name, otherwise)
}

// Streams of random numbers of a plan.
const (
	streamOrder = iota
	streamSeeds // and all larger numbers
)

// order gives each point a folder of its own and puts the runs in order.
func (p *SweepPlan) order() error {
	rng := rand.New(rand.NewPCG(p.Seed, streamOrder))
	names := map[string]bool{}
	var labs []string
	inLab := map[string][]int{}
	for i := range p.Points {
		point := &p.Points[i]
		for n, name := 2, point.Name; names[point.Name]; n++ { // names that were cut may be equal
			point.Name = fmt.Sprintf("%s~%d", name, n)
		}
		names[point.Name] = true
		sc, err := p.scenario(i)
		if err != nil {
			return err
		}
		lab := run.LabSettings(sc, nil)
		if inLab[lab] == nil {
			labs = append(labs, lab)
		}
		inLab[lab] = append(inLab[lab], i)
	}
	rng.Shuffle(len(labs), func(i, j int) { labs[i], labs[j] = labs[j], labs[i] })
	for _, lab := range labs {
		points := inLab[lab]
		for repeat := range max(p.Repeat, 1) {
			// Each point is run once before any is run again, so that a machine that slows down affects all points.
			rng.Shuffle(len(points), func(i, j int) { points[i], points[j] = points[j], points[i] })
			for _, i := range points {
				r := PlannedRun{Point: i}
				if p.Repeat > 0 {
					r.Repeat = repeat + 1
				}
				p.Order = append(p.Order, r)
			}
		}
	}
	return nil
}

// paramFlag is the flag as errors name it.
const paramFlag = "--param"

const paramHint = "KEY=VALUES: a list 1,8,64; a range that doubles, 1..256; by another factor, 1..1000x10; " +
	"in steps, 10..50+10; {…} takes what is inside as one value"

// maxValues bounds the number of values of a parameter.
const maxValues = 1000

// ParseParam reads KEY=VALUES. VALUES are separated by commas, and each may be a range of numbers or durations.
// FROM..TO doubles the value from FROM on, FROM..TOxFACTOR multiplies it and FROM..TO+STEP adds to it; TO is always the
// last value. A value in braces is taken as it is, with its commas and dots. For example, {mutex,curator-mutex} is a
// mix of two recipes and {100..400} a rate that grows. Commas within parentheses separate nothing.
func ParseParam(text string) (sweep.Param, error) {
	key, list, found := strings.Cut(text, "=")
	key, list = strings.TrimSpace(key), strings.TrimSpace(list)
	if !found || key == "" || list == "" {
		return sweep.Param{}, &scenario.InputError{Flag: paramFlag, Msg: strconv.Quote(text) + " does not say what to vary",
			Hint: paramHint}
	}
	refuse := func(msg, hint string) (sweep.Param, error) {
		return sweep.Param{}, &scenario.InputError{Flag: paramFlag + " " + text, Msg: msg, Hint: hint}
	}
	p := sweep.Param{Key: key}
	words, ok := splitList(list)
	if !ok {
		return refuse("brackets do not close", paramHint)
	}
	for _, word := range words {
		values := []string{word}
		if inside, literal := strings.CutPrefix(word, "{"); literal {
			values = []string{strings.TrimSpace(strings.TrimSuffix(inside, "}"))}
		} else if r := rangeForm.FindStringSubmatch(word); r != nil {
			var err error
			if values, err = expand(r[1], r[2], r[3], r[4]); err != nil {
				return refuse(err.Error(), paramHint)
			}
		}
		for _, v := range values {
			if v == "" {
				return refuse("a value is missing", paramHint)
			}
			p.Values = append(p.Values, v)
		}
	}
	if len(p.Values) > maxValues {
		return refuse(fmt.Sprintf("%d values are too many", len(p.Values)), fmt.Sprintf("at most %d", maxValues))
	}
	return p, nil
}

// splitList splits a list at the commas outside parentheses and braces; false if these are not balanced.
func splitList(list string) ([]string, bool) {
	var words []string
	depth, from := 0, 0
	for i, c := range list {
		switch c {
		case '(', '{':
			depth++
		case ')', '}':
			depth--
		case ',':
			if depth == 0 {
				words = append(words, strings.TrimSpace(list[from:i]))
				from = i + 1
			}
		}
		if depth < 0 {
			return nil, false
		}
	}
	return append(words, strings.TrimSpace(list[from:])), depth == 0
}

// quantity matches a number or a duration.
const quantity = `([0-9]+(?:\.[0-9]+)?(?:ns|us|µs|ms|s|m|h)?)`

var rangeForm = regexp.MustCompile(`^` + quantity + `\.\.` + quantity + `(?:([x+])` + quantity + `)?$`)

// expand returns the values of a range.
func expand(first, last, op, by string) ([]string, error) {
	from, isTime, err := parseQuantity(first)
	if err != nil {
		return nil, err
	}
	to, toTime, err := parseQuantity(last)
	if err != nil {
		return nil, err
	}
	if isTime != toTime && from != 0 {
		return nil, fmt.Errorf("one end of %s..%s is a duration and the other is not", first, last)
	}
	if to < from {
		return nil, fmt.Errorf("%s..%s ends before it begins", first, last)
	}
	step, stepTime := 2.0, false
	if op != "" {
		if step, stepTime, err = parseQuantity(by); err != nil {
			return nil, err
		}
	}
	next := func(v float64) float64 { return v * step }
	if op == "+" {
		next = func(v float64) float64 { return v + step }
		if step == 0 || stepTime != toTime {
			return nil, fmt.Errorf("%s..%s cannot go in steps of %s", first, last, by)
		}
	} else if step <= 1 || stepTime || from == 0 && to > 0 {
		return nil, fmt.Errorf("%s..%s cannot grow by a factor of %v", first, last, step)
	}
	var values []string
	for v := from; v < to*(1-1e-9); v = next(v) {
		if len(values) > maxValues {
			return nil, fmt.Errorf("%s..%s is more than %d values", first, last, maxValues)
		}
		values = append(values, formatQuantity(v, toTime))
	}
	return append(values, formatQuantity(to, toTime)), nil
}

// parseQuantity reads a number, or a duration as nanoseconds.
func parseQuantity(text string) (v float64, isTime bool, err error) {
	if v, err := strconv.ParseFloat(text, 64); err == nil {
		return v, false, nil
	}
	d, err := time.ParseDuration(text)
	return float64(d), true, err
}

func formatQuantity(v float64, isTime bool) string {
	if isTime {
		return time.Duration(math.Round(v)).String()
	}
	return strconv.FormatFloat(math.Round(v*1e9)/1e9, 'f', -1, 64)
}
