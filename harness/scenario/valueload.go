package scenario

import (
	"math"
	"strconv"
	"strings"
	"time"

	"locklab/workloads"
)

// call splits name(argument, argument); without parentheses there is only a name.
func call(text string) (name string, args []string, ok bool) {
	name, rest, found := strings.Cut(text, "(")
	if !found {
		return text, nil, true
	}
	inside, after, closed := strings.Cut(rest, ")")
	if !closed || after != "" {
		return "", nil, false
	}
	for arg := range strings.SplitSeq(inside, ",") {
		args = append(args, strings.TrimSpace(arg))
	}
	return name, args, true
}

// A distributionValue is how long something takes, always or drawn each time.
type distributionValue struct{ p *workloads.Distribution }

const distributionHint = "a duration such as 5ms, or exponential(5ms), uniform(1ms..9ms) or log-normal(5ms, 0.5), of that median and that deviation of the logarithm"

func (v distributionValue) String() string {
	switch d := *v.p; d.Kind {
	case workloads.UniformOf:
		return "uniform(" + formatDuration(d.From) + ".." + formatDuration(d.To) + ")"
	case workloads.Exponential:
		return "exponential(" + formatDuration(d.Centre) + ")"
	case workloads.LogNormal:
		return "log-normal(" + formatDuration(d.Centre) + ", " + formatNumber(d.Sigma) + ")"
	default:
		return formatDuration(d.Centre)
	}
}

func (v distributionValue) Set(text string) (err error) {
	*v.p, err = keep(*v.p, text, parseDistribution)
	return err
}

func parseDistribution(text string) (workloads.Distribution, error) {
	wrong := &valueError{msg: quote(text) + " is neither a duration nor a distribution", hint: distributionHint}
	name, args, ok := call(text)
	if !ok {
		return workloads.Distribution{}, wrong
	}
	d := workloads.Distribution{Kind: name}
	var err error
	switch {
	case args == nil:
		d.Kind = ""
		d.Centre, err = parseLength(text)
		if v, isValue := err.(*valueError); isValue && v.hint == durationHint {
			return d, wrong
		}
	case name == workloads.Constant && len(args) == 1:
		d.Kind = ""
		d.Centre, err = parseLength(args[0])
	case name == workloads.Exponential && len(args) == 1:
		d.Centre, err = parseLength(args[0])
	case name == workloads.UniformOf && len(args) == 1:
		from, to, isRange := strings.Cut(args[0], "..")
		if !isRange {
			return d, wrong
		}
		if d.From, err = parseLength(from); err == nil {
			d.To, err = parseLength(to)
		}
		if err == nil && d.To < d.From {
			err = &valueError{msg: quote(text) + " ends before it begins", hint: "uniform(" + to + ".." + from + ")"}
		}
	case name == workloads.LogNormal && len(args) == 2:
		if d.Centre, err = parseLength(args[0]); err == nil {
			d.Sigma, err = parseNumber(args[1], 0, 5)
		}
	default:
		return d, wrong
	}
	if err == nil && d.Kind != "" && d.Centre == 0 && d.To == 0 {
		err = &valueError{msg: quote(text) + " is always 0s", hint: "0s, or " + name + " of more than that"}
	}
	return d, err
}

// parseLength reads a duration that something can take.
func parseLength(text string) (time.Duration, error) {
	d, err := parseDuration(text)
	if err == nil && (d < 0 || d > time.Duration(day)) {
		err = &valueError{msg: quote(text) + " is out of range", hint: "from 0s to " + formatDuration(time.Duration(day))}
	}
	return d, err
}

// parseNumber reads a number in plain digits.
func parseNumber(text string, lo, hi float64) (float64, error) {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || strings.Trim(text, "0123456789.") != "" {
		return 0, &valueError{msg: quote(text) + " is not a number", hint: "plain digits, such as 1.5"}
	}
	if !(x >= lo && x <= hi) {
		return 0, &valueError{msg: quote(text) + " is out of range", hint: "from " + formatNumber(lo) + " to " + formatNumber(hi)}
	}
	return x, nil
}

func formatNumber(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// A rateValue is at which rate work arrives, over a run.
type rateValue struct{ p *workloads.Plan }

const (
	rateHint = "arrivals per second: 100, a ramp such as 100..400, or steps such as 100,200,400"
	mostRate = 1e6
	maxSteps = 100
)

func (v rateValue) String() string {
	var words []string
	for _, r := range v.p.Rates {
		words = append(words, formatNumber(r))
	}
	if v.p.Ramp {
		return strings.Join(words, "..")
	}
	return strings.Join(words, ",")
}

func (v rateValue) Set(text string) (err error) {
	*v.p, err = keep(*v.p, text, parseRate)
	return err
}

func parseRate(text string) (workloads.Plan, error) {
	var p workloads.Plan
	if text == "" {
		return p, nil
	}
	words := strings.Split(text, "..")
	if p.Ramp = len(words) > 1; !p.Ramp {
		words = strings.Split(text, ",")
	}
	if p.Ramp && len(words) != 2 || len(words) > maxSteps {
		return p, &valueError{msg: quote(text) + " is not a rate", hint: rateHint}
	}
	var most float64
	for _, word := range words {
		r, err := parseNumber(strings.TrimSpace(word), 0, mostRate)
		if err != nil {
			return p, &valueError{msg: err.(*valueError).msg, hint: rateHint}
		}
		p.Rates = append(p.Rates, r)
		most = math.Max(most, r)
	}
	if most == 0 {
		return p, &valueError{msg: "a rate of " + text + " brings nothing", hint: rateHint}
	}
	return p, nil
}

// A lockChoiceValue is which of the locks are asked for how often.
type lockChoiceValue struct{ p *workloads.Choice }

const choiceHint = "uniform, or zipf(1.1), whose k-th lock is asked for in proportion to 1/k^1.1"

func (v lockChoiceValue) String() string {
	if v.p.Zipf == 0 {
		return "uniform"
	}
	return "zipf(" + formatNumber(v.p.Zipf) + ")"
}

func (v lockChoiceValue) Set(text string) (err error) {
	*v.p, err = keep(*v.p, text, func(text string) (workloads.Choice, error) {
		name, args, ok := call(text)
		switch {
		case ok && name == "uniform" && args == nil:
			return workloads.Choice{}, nil
		case ok && name == "zipf" && len(args) == 1:
			s, err := parseNumber(args[0], 0.01, 10)
			return workloads.Choice{Zipf: s}, err
		}
		return workloads.Choice{}, &valueError{msg: quote(text) + " is no choice of locks", hint: choiceHint}
	})
	return err
}

// every splits "x every 5s".
func every(text, example string) (what string, d time.Duration, err error) {
	what, often, found := strings.Cut(text, " every ")
	if !found {
		return "", 0, &valueError{msg: quote(text) + " says not how often", hint: "such as " + example}
	}
	d, err = parseDuration(strings.TrimSpace(often))
	if err == nil && (d < time.Millisecond || d > time.Duration(day)) {
		err = &valueError{msg: quote(often) + " is out of range", hint: "from 1ms to " + formatDuration(time.Duration(day))}
	}
	return strings.TrimSpace(what), d, err
}

// A burstValue is a time that comes again and again; empty = never.
type burstValue struct{ p *workloads.Burst }

func (v burstValue) String() string {
	if v.p.Every == 0 {
		return ""
	}
	return formatDuration(v.p.Length) + " every " + formatDuration(v.p.Every)
}

func (v burstValue) Set(text string) (err error) {
	*v.p, err = keep(*v.p, text, func(text string) (b workloads.Burst, err error) {
		if text == "" {
			return b, nil
		}
		length, often, err := every(text, "500ms every 5s")
		if err != nil {
			return b, err
		}
		b.Every = often
		if b.Length, err = parseLength(length); err == nil && b.Length >= b.Every {
			err = &valueError{msg: "a burst of " + length + " never ends", hint: "shorter than every " + formatDuration(b.Every)}
		}
		return b, err
	})
	return err
}

// A resizeValue is another number of permits and when it comes and goes; empty = never.
type resizeValue struct{ p *workloads.Resize }

func (v resizeValue) String() string {
	if v.p.Every == 0 {
		return ""
	}
	return strconv.Itoa(v.p.To) + " every " + formatDuration(v.p.Every)
}

func (v resizeValue) Set(text string) (err error) {
	*v.p, err = keep(*v.p, text, func(text string) (r workloads.Resize, err error) {
		if text == "" {
			return r, nil
		}
		to, often, err := every(text, "8 every 2s")
		if err != nil {
			return r, err
		}
		r.Every = often
		if err = (countValue{&r.To}).Set(to); err == nil && (r.To < 1 || r.To > 10_000) {
			err = &valueError{msg: quote(to) + " is out of range", hint: "from 1 to 10000"}
		}
		return r, err
	})
	return err
}
