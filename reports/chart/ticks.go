package chart

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"gonum.org/v1/plot"

	"locklab/reports/words"
)

// Floor is the shortest time that a logarithmic axis shows. The axis of gonum panics at zero and below, and no time
// is measured more exactly than a microsecond.
const Floor = 1e-3 // ms

// Millis converts nanoseconds to milliseconds for a logarithmic axis.
func Millis(ns int64) float64 { return max(float64(ns)/1e6, Floor) }

// LogTime is a logarithmic axis of milliseconds.
type LogTime struct{}

// Ticks implements plot.Ticker.
func (LogTime) Ticks(lo, hi float64) []plot.Tick {
	lo, hi = max(lo, Floor/10), max(hi, Floor)
	return logTicks(lo, hi, func(v float64) string { return words.Duration(int64(math.Round(v * 1e6))) })
}

// LogNumber is a logarithmic axis of plain numbers.
type LogNumber struct{}

// Ticks implements plot.Ticker.
func (LogNumber) Ticks(lo, hi float64) []plot.Tick {
	return logTicks(lo, hi, func(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) })
}

// logTicks has a tick at each digit of each decade. A short axis has labels at 1, 2 and 5, a long one at powers of ten.
func logTicks(lo, hi float64, label func(v float64) string) []plot.Tick {
	short := math.Log10(hi/lo) <= 4.2
	var ticks []plot.Tick
	for e := math.Floor(math.Log10(lo)); e <= math.Ceil(math.Log10(hi)); e++ {
		for m := 1; m < 10; m++ {
			v := float64(m) * math.Pow(10, e)
			if v < lo*(1-1e-9) || v > hi*(1+1e-9) {
				continue
			}
			t := plot.Tick{Value: v}
			if m == 1 || short && (m == 2 || m == 5) {
				t.Label = label(v)
			}
			ticks = append(ticks, t)
		}
	}
	return ticks
}

// FitLog widens [lo, hi] to the next 1, 2 or 5 outside it.
func FitLog(lo, hi float64) (float64, float64) {
	lo, hi = max(lo, Floor), max(hi, Floor)
	step := func(v float64, up bool) float64 {
		e := math.Pow(10, math.Floor(math.Log10(v)))
		best := e
		for _, m := range []float64{1, 2, 5, 10} {
			if up && m*e >= v*(1-1e-9) {
				return m * e
			}
			if m*e <= v*(1+1e-9) {
				best = m * e
			}
		}
		return best
	}
	lo, hi = step(lo, false), step(hi, true)
	if hi <= lo {
		hi = lo * 10
	}
	return lo, hi
}

// Even is a linear axis with labels at round values, without trailing zeros.
type Even struct {
	// Unit is appended to every label, "" for none.
	Unit string
	// Whole allows whole numbers only.
	Whole bool
	// Want is the approximate number of labels; 0 means 6.
	Want int
}

// Ticks implements plot.Ticker.
func (t Even) Ticks(lo, hi float64) []plot.Tick {
	if hi <= lo || math.IsInf(hi-lo, 0) || math.IsNaN(hi-lo) {
		return nil
	}
	want := t.Want
	if want == 0 {
		want = 6
	}
	rough := (hi - lo) / float64(want)
	e := math.Pow(10, math.Floor(math.Log10(rough)))
	step := 10 * e
	for _, m := range []float64{1, 2, 5} {
		if m*e >= rough*(1-1e-9) {
			step = m * e
			break
		}
	}
	if t.Whole {
		step = max(step, 1)
	}
	places := max(0, -int(math.Floor(math.Log10(step)+1e-9)))
	var ticks []plot.Tick
	for i := math.Ceil(lo/step-1e-9) + 0; i*step <= hi*(1+1e-12)+1e-12; i++ {
		ticks = append(ticks, plot.Tick{Value: i * step, Label: strconv.FormatFloat(i*step+0, 'f', places, 64) + t.Unit})
	}
	return ticks
}

// Seconds converts nanoseconds to seconds.
func Seconds(ns int64) float64 { return time.Duration(ns).Seconds() }

// Nines is the axis of 1/(1-p), which has as much room for 90 to 99 as for 99 to 99.9. Its values are -log10(1-p), so
// 0 is the minimum, 1 is p90 and 2 is p99.
type Nines struct{}

// Ticks implements plot.Ticker.
func (Nines) Ticks(_, hi float64) []plot.Tick {
	var ticks []plot.Tick
	add := func(percent float64, name string) {
		if v := -math.Log10(1 - percent/100); v <= hi*(1+1e-9) {
			ticks = append(ticks, plot.Tick{Value: v, Label: name})
		}
	}
	add(0, "0")
	add(50, "50")
	add(75, "")
	for k := 1; float64(k) <= hi*(1+1e-9); k++ {
		p := 100 * (1 - math.Pow10(-k))
		add(p, fmt.Sprintf("%.*f", max(0, k-2), p))
		add(100*(1-0.5*math.Pow10(-k)), "")
	}
	return ticks
}
