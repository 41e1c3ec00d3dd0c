package advice

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"locklab/harness/scenario"
	"locklab/harness/settings"
)

// quantilesHint is how quantiles are written.
const quantilesHint = "such as p50=2ms,p99=80ms,p99.9=400ms,max=3s,count=86400,over=24h"

// mostPauses is more than any input has.
const mostPauses = 1e15

// A quantile says that a share of the pauses is longer.
type quantile struct {
	name   string
	length time.Duration
	longer float64 // in (0, 1)
}

func badQuantiles(msg string, args ...any) error {
	e := settings.Errorf(quantilesHint, msg, args...).(*settings.Error)
	return &scenario.InputError{Flag: flag, Msg: e.Msg, Hint: e.Hint}
}

// parseQuantiles reads a list of quantiles, and from how many pauses over what time they are: without those there is
// no rate.
func parseQuantiles(text string) (Pauses, error) {
	var (
		all        []quantile
		most, over time.Duration
		count      float64
		seen       = map[string]bool{}
	)
	for part := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		if seen[key] {
			return Pauses{}, badQuantiles("%s is given twice", settings.Quote(key))
		}
		seen[key] = true
		length, err := time.ParseDuration(value)
		percent, isQuantile := strings.CutPrefix(key, "p")
		switch {
		case key == "count":
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil || n < 1 || n > mostPauses {
				return Pauses{}, badQuantiles("count=%s is no number of pauses", settings.Quote(value))
			}
			count = float64(n)
		case key != "max" && key != "over" && !isQuantile:
			return Pauses{}, badQuantiles("%s is neither a quantile nor max, count or over", settings.Quote(part))
		case err != nil || length <= 0:
			return Pauses{}, badQuantiles("%s=%s is no time above 0", key, settings.Quote(value))
		case key == "max":
			most = length
		case key == "over":
			over = length
		default:
			share, err := strconv.ParseFloat(percent, 64)
			if err != nil || !(share > 0 && share < 100) {
				return Pauses{}, badQuantiles("%s is no quantile above p0 and below p100", settings.Quote(key))
			}
			all = append(all, quantile{key, length, 1 - share/100})
		}
	}
	switch {
	case len(all) == 0:
		return Pauses{}, badQuantiles("there is no quantile")
	case most == 0:
		return Pauses{}, badQuantiles("max is missing, so nothing is known of the longest pauses")
	case count == 0 || over == 0:
		return Pauses{}, badQuantiles("count or over is missing: quantiles do not tell how many pauses there are a year")
	}
	slices.SortStableFunc(all, func(a, b quantile) int { return cmp.Compare(b.longer, a.longer) })
	highest := all[len(all)-1]
	if count*highest.longer < 1-1e-9 {
		return Pauses{}, badQuantiles("%.0f pauses are too few for a %s: at least %.0f", count, highest.name,
			math.Ceil(1/highest.longer-1e-6))
	}
	all = append(all, quantile{"max", most, 0})
	for i := 1; i < len(all); i++ {
		if a, b := all[i-1], all[i]; b.length <= a.length {
			return Pauses{}, badQuantiles("the quantiles do not rise: %s=%s, but %s=%s", a.name, a.length, b.name, b.length)
		}
	}
	p := Pauses{
		Source: text, What: "pauses", Span: over, Lengths: interpolate(all, count), Interpolated: true,
		Notes: []string{"between the quantiles the share of longer pauses was taken to fall as a power of the length"},
	}
	return p, nil
}

// steps is how many lengths stand for the pauses between two quantiles.
const steps = 200

// interpolate returns lengths of so many pauses. Between two quantiles the share of longer pauses falls as a power of
// the length. One pause is as long as the maximum. Pauses below the lowest quantile are spread evenly.
func interpolate(all []quantile, count float64) []Length {
	var lengths []Length
	low := all[0]
	for i := range steps {
		at := (float64(i) + 0.5) / steps * float64(low.length)
		lengths = append(lengths, Length{time.Duration(at), count * (1 - low.longer) / steps})
	}
	for i, a := range all[:len(all)-1] {
		b := all[i+1]
		to := max(b.longer, 1/count) // the longest pause is added below
		ratio, fall := float64(b.length)/float64(a.length), to/a.longer
		for k := range steps {
			share := func(k float64) float64 { return a.longer * math.Pow(fall, k/steps) }
			at := float64(a.length) * math.Pow(ratio, (float64(k)+0.5)/steps)
			lengths = append(lengths, Length{time.Duration(at), count * (share(float64(k)) - share(float64(k+1)))})
		}
	}
	return append(lengths, Length{all[len(all)-1].length, 1})
}
