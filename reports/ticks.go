package reports

import (
	"math"
	"strconv"
	"time"

	"gonum.org/v1/plot"
)

// duration formats nanoseconds for people: three digits and a unit.
func duration(ns int64) string {
	v := float64(ns)
	if v < 0 {
		return "-" + duration(-ns)
	}
	switch {
	case v == 0:
		return "0"
	case v < 999.5:
		return digits3(v) + " ns"
	case v < 999.5e3:
		return digits3(v/1e3) + " µs"
	case v < 999.5e6:
		return digits3(v/1e6) + " ms"
	case v < 120e9:
		return digits3(v/1e9) + " s"
	case v < 7200e9:
		return digits3(v/60e9) + " min"
	}
	return digits3(v/3600e9) + " h"
}

// digits3 writes v with three significant digits and no trailing zeros.
func digits3(v float64) string {
	if v >= 100 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	r, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
	return strconv.FormatFloat(r, 'f', -1, 64)
}

// floor is the shortest time that a logarithmic axis shows: gonum's panics at
// zero and below, and nothing we time is known better than a microsecond.
const floor = 1e-3 // ms

// millis converts to milliseconds fit for a logarithmic axis.
func millis(ns int64) float64 { return max(float64(ns)/1e6, floor) }

// logTime is a logarithmic axis of milliseconds: labels at 1, 2 and 5 if it is
// short, at powers of ten if it is long.
type logTime struct{}

// Ticks implements plot.Ticker.
func (logTime) Ticks(lo, hi float64) []plot.Tick {
	lo, hi = max(lo, floor/10), max(hi, floor)
	decades := math.Log10(hi / lo)
	var ticks []plot.Tick
	for e := math.Floor(math.Log10(lo)); e <= math.Ceil(math.Log10(hi)); e++ {
		for m := 1; m < 10; m++ {
			v := float64(m) * math.Pow(10, e)
			if v < lo*(1-1e-9) || v > hi*(1+1e-9) {
				continue
			}
			t := plot.Tick{Value: v}
			if m == 1 || decades <= 4.2 && (m == 2 || m == 5) {
				t.Label = duration(int64(math.Round(v * 1e6)))
			}
			ticks = append(ticks, t)
		}
	}
	return ticks
}

// fitLog widens [lo, hi] to the next 1, 2 or 5 outside it.
func fitLog(lo, hi float64) (float64, float64) {
	lo, hi = max(lo, floor), max(hi, floor)
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

// even is a linear axis with labels at round values and no needless zeros.
type even struct {
	// Unit is appended to every label, "" for none.
	Unit string
	// Whole allows whole numbers only.
	Whole bool
	// Want is about how many labels; 0 means 6.
	Want int
}

// Ticks implements plot.Ticker.
func (t even) Ticks(lo, hi float64) []plot.Tick {
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

// seconds converts a time of the run for an axis.
func seconds(ns int64) float64 { return time.Duration(ns).Seconds() }
