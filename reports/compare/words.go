package compare

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"locklab/reports/result"
	"locklab/reports/words"
)

// amount writes a value in its unit, with three significant digits.
func amount(v *float64, unit string) string {
	switch {
	case v == nil:
		return "n/a"
	case strings.HasSuffix(unit, "-ns"):
		return words.Duration(int64(math.Round(*v)))
	case unit == "acquired/s":
		return words.Digits3(*v) + "/s"
	case strings.HasPrefix(unit, "not-"):
		return words.Share(*v)
	}
	return words.Digits3(*v)
}

func worse(loss float64) string {
	if loss < 0 {
		return words.Share(-loss) + " better"
	}
	return words.Share(loss) + " worse"
}

// ratio writes a change: 1.21 (1.18–1.25) or +1.2 (+0.9 to +1.5) points.
func (l *Line) ratio() string {
	c := l.Change
	switch {
	case c == nil:
		return "n/a"
	case l.Difference:
		return fmt.Sprintf("%+.1f (%+.1f to %+.1f) points", 100*c.Estimate, 100*c.Low, 100*c.High)
	}
	return fmt.Sprintf("%s (%s–%s)", words.Ratio(c.Estimate), words.Ratio(c.Low), words.Ratio(c.High))
}

// tolerated writes the loss that is accepted.
func (l *Line) tolerated() string {
	switch {
	case !l.Difference:
		return words.Share(l.Tolerance)
	case l.quantity.Unit == result.Share:
		return fmt.Sprintf("%.3g points", 100*l.Tolerance)
	}
	return fmt.Sprintf("%.3g", l.Tolerance)
}

// p writes the adjusted p, or the p if nothing depends on the metric.
func (l *Line) p() string {
	switch {
	case l.PAdjusted != nil:
		return formatP(*l.PAdjusted)
	case l.P != nil:
		return formatP(*l.P)
	}
	return "n/a"
}

func formatP(p float64) string {
	if p < 0.001 {
		return "<0.001"
	}
	return fmt.Sprintf("%.3f", p)
}

// change writes the ratio as a factor.
func (l *Line) change() string {
	if l.Change == nil || l.Difference {
		return l.ratio()
	}
	return "×" + l.ratio()
}

// describe says in half a sentence how the metric changed.
func (l *Line) describe() string {
	base, head := amount(l.BaseMedian, l.Unit), amount(l.HeadMedian, l.Unit)
	return fmt.Sprintf("%s → %s, %s, %s tolerated, p %s", base, head, l.change(), l.tolerated(), l.p())
}

// measured says in one sentence what the runs of a configuration measured: on which servers, storage and cores.
func measured(config map[string]string) string {
	count := func(key, one string) string {
		n, err := strconv.Atoi(config[key])
		switch {
		case err != nil:
			return "an unknown number of " + one + "s"
		case n == 1:
			return "one " + one
		}
		return fmt.Sprintf("%d %ss", n, one)
	}
	ensemble := count("scenario.servers", "server") + " without a quorum"
	if n, err := strconv.Atoi(config["scenario.servers"]); err != nil || n > 1 {
		ensemble = count("scenario.servers", "server")
		if err == nil {
			ensemble += fmt.Sprintf(" (each write waits for %d)", n/2+1)
		}
	}
	storage := map[string]string{"disk": "on disk", "tmpfs": "in memory (tmpfs)"}[config["scenario.storage"]]
	return fmt.Sprintf("Measured: %s for %s, on %s whose logs are %s; %s in all.", count("scenario.clients", "client"),
		count("scenario.locks", "lock"), ensemble, cmp.Or(storage, "on storage that is not known"),
		count("env.cpus", "core"))
}
