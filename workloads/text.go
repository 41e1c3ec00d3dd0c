package workloads

import (
	"strconv"
	"strings"
	"time"

	"locklab/harness/settings"
)

// This file has the text forms of the load's settings, which are keys of a scenario. Each type has the methods of
// [flag.Value] and a schema of the texts that Set accepts.

const distributionHint = "a duration such as 5ms, or exponential(5ms), uniform(1ms..9ms) or log-normal(5ms, 0.5), " +
	"whose arguments are the median and the standard deviation of the logarithm"

// String writes the distribution as Set reads it.
func (d Distribution) String() string {
	switch d.Kind {
	case UniformOf:
		return "uniform(" + settings.FormatDuration(d.From) + ".." + settings.FormatDuration(d.To) + ")"
	case Exponential:
		return "exponential(" + settings.FormatDuration(d.Centre) + ")"
	case LogNormal:
		return "log-normal(" + settings.FormatDuration(d.Centre) + ", " + settings.FormatNumber(d.Sigma) + ")"
	default:
		return settings.FormatDuration(d.Centre)
	}
}

// Set reads a duration or a distribution.
func (d *Distribution) Set(text string) error {
	wrong := settings.Errorf(distributionHint, "%s is neither a duration nor a distribution", settings.Quote(text))
	name, args, ok := call(text)
	if !ok {
		return wrong
	}
	var err error
	switch {
	case args == nil:
		d.Centre, err = parseLength(text)
		if v, ok := err.(*settings.Error); ok && v.Hint == settings.DurationHint {
			return wrong
		}
		return err
	case name == Constant && len(args) == 1:
		d.Centre, err = parseLength(args[0])
		return err
	case name == Exponential && len(args) == 1:
		d.Centre, err = parseLength(args[0])
	case name == UniformOf && len(args) == 1:
		from, to, isRange := strings.Cut(args[0], "..")
		if !isRange {
			return wrong
		}
		if d.From, err = parseLength(from); err == nil {
			d.To, err = parseLength(to)
		}
		if err == nil && d.To < d.From {
			err = settings.Errorf("uniform("+to+".."+from+")", "%s ends before it begins", settings.Quote(text))
		}
	case name == LogNormal && len(args) == 2:
		if d.Centre, err = parseLength(args[0]); err == nil {
			d.Sigma, err = parseNumber(args[1], 0, 5)
		}
	default:
		return wrong
	}
	if d.Kind = name; err == nil && d.Centre == 0 && d.To == 0 {
		err = settings.Errorf("0s, or "+name+" of more than that", "%s is always 0s", settings.Quote(text))
	}
	return err
}

// Schema is the schema of what Set reads.
func (Distribution) Schema() settings.Schema {
	const length = ` *(` + settings.DurationPattern + `|0) *`
	return anyOf(settings.DurationSchema(),
		settings.TextSchema(`^(constant|exponential)\(`+length+`\)$`),
		settings.TextSchema(`^uniform\(`+length+`\.\.`+length+`\)$`),
		settings.TextSchema(`^log-normal\(`+length+`, *`+settings.NumberPattern+` *\)$`))
}

const (
	rateHint = "arrivals per second: 100, a ramp such as 100..400, or steps such as 100,200,400"
	maxRate  = 1e6
	maxSteps = 100
)

// String writes the plan as Set reads it; empty for no arrivals.
func (p RatePlan) String() string {
	words := make([]string, len(p.Rates))
	for i, r := range p.Rates {
		words[i] = settings.FormatNumber(r)
	}
	if p.Ramp {
		return strings.Join(words, "..")
	}
	return strings.Join(words, ",")
}

// Set reads a rate, a ramp or steps.
func (p *RatePlan) Set(text string) error {
	if text == "" {
		return nil
	}
	words := strings.Split(text, "..")
	if p.Ramp = len(words) > 1; !p.Ramp {
		words = strings.Split(text, ",")
	}
	if p.Ramp && len(words) != 2 || len(words) > maxSteps {
		return settings.Errorf(rateHint, "%s is not a rate", settings.Quote(text))
	}
	var most float64
	for _, word := range words {
		r, err := parseNumber(strings.TrimSpace(word), 0, maxRate)
		if err != nil {
			return settings.Errorf(rateHint, "%s", err.(*settings.Error).Msg)
		}
		p.Rates = append(p.Rates, r)
		most = max(most, r)
	}
	if most == 0 {
		return settings.Errorf(rateHint, "at a rate of %s nothing arrives", text)
	}
	return nil
}

// Schema is the schema of what Set reads.
func (RatePlan) Schema() settings.Schema {
	const rate = settings.NumberPattern
	return anyOf(settings.Schema{"type": "number", "exclusiveMinimum": 0, "maximum": maxRate},
		settings.TextSchema(`^`+rate+` *(\.\.|(, *`+rate+` *)*,) *`+rate+`$`),
		settings.Schema{"const": ""})
}

const choiceHint = "uniform, dealt, or zipf(1.1), by which the k-th lock is asked for in proportion to 1/k^1.1"

// String writes the choice as Set reads it.
func (c Choice) String() string {
	switch {
	case c.Dealt:
		return "dealt"
	case c.Zipf == 0:
		return "uniform"
	}
	return "zipf(" + settings.FormatNumber(c.Zipf) + ")"
}

// Set reads uniform or zipf(exponent).
func (c *Choice) Set(text string) (err error) {
	name, args, ok := call(text)
	switch {
	case ok && name == "uniform" && args == nil:
		return nil
	case ok && name == "dealt" && args == nil:
		c.Dealt = true
		return nil
	case ok && name == "zipf" && len(args) == 1:
		c.Zipf, err = parseNumber(args[0], 0.01, 10)
		return err
	}
	return settings.Errorf(choiceHint, "%s is not a choice of locks", settings.Quote(text))
}

// Schema is the schema of what Set reads.
func (Choice) Schema() settings.Schema {
	return anyOf(settings.Schema{"enum": []string{"uniform", "dealt"}},
		settings.TextSchema(`^zipf\( *`+settings.NumberPattern+` *\)$`))
}

// maxPermits bounds the permits of a semaphore.
const maxPermits = 10_000

// String writes the resize as Set reads it; empty if it never comes.
func (r Resize) String() string { return formatEvery(strconv.Itoa(r.To), r.Every) }

// Set reads "8 every 2s".
func (r *Resize) Set(text string) error {
	to, every, err := parseEvery(text, "8 every 2s")
	if err != nil || every == 0 {
		return err
	}
	if r.To, err = strconv.Atoi(to); err != nil {
		return settings.Errorf("digits only, such as 16", "%s is not a whole number", settings.Quote(to))
	}
	if r.Every = every; r.To < 1 || r.To > maxPermits {
		return settings.Errorf("from 1 to "+strconv.Itoa(maxPermits), "%s is out of range", settings.Quote(to))
	}
	return nil
}

// Schema is the schema of what Set reads.
func (Resize) Schema() settings.Schema {
	return settings.TextSchema(`^([1-9][0-9]{0,4} every +` + settings.DurationPattern + `)?$`)
}

func anyOf(schemas ...settings.Schema) settings.Schema { return settings.Schema{"anyOf": schemas} }

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

// parseEvery splits "x every 5s"; every is 0 for an empty text.
func parseEvery(text, example string) (what string, every time.Duration, err error) {
	if text == "" {
		return "", 0, nil
	}
	what, often, found := strings.Cut(text, " every ")
	if !found {
		return "", 0, settings.Errorf("such as "+example, "%s does not say how often", settings.Quote(text))
	}
	every, err = settings.ParseDuration(strings.TrimSpace(often))
	if err == nil && (every < time.Millisecond || every > longest) {
		err = settings.Errorf("from 1ms to "+settings.FormatDuration(longest), "%s is out of range", settings.Quote(often))
	}
	return strings.TrimSpace(what), every, err
}

func formatEvery(what string, every time.Duration) string {
	if every == 0 {
		return ""
	}
	return what + " every " + settings.FormatDuration(every)
}

// parseLength reads a duration from 0 to longest.
func parseLength(text string) (time.Duration, error) {
	d, err := settings.ParseDuration(text)
	if err == nil && (d < 0 || d > longest) {
		err = settings.Errorf("from 0s to "+settings.FormatDuration(longest), "%s is out of range", settings.Quote(text))
	}
	return d, err
}

// parseNumber reads a number in plain digits.
func parseNumber(text string, lo, hi float64) (float64, error) {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || strings.Trim(text, "0123456789.") != "" {
		return 0, settings.Errorf("plain digits, such as 1.5", "%s is not a number", settings.Quote(text))
	}
	if !(x >= lo && x <= hi) {
		hint := "from " + settings.FormatNumber(lo) + " to " + settings.FormatNumber(hi)
		return 0, settings.Errorf(hint, "%s is out of range", settings.Quote(text))
	}
	return x, nil
}
