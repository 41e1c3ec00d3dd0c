package series

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"locklab/harness/scenario"
	"locklab/reports/sweep"
)

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
