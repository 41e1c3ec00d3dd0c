package index

import (
	"fmt"
	"html/template"
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"locklab/reports/chart"
	"locklab/reports/words"
)

// The sizes of a thumbnail.
const (
	thumbWidth  = 200
	thumbHeight = 34
	thumbMargin = 4
	stripHeight = 8 // of the run's time, below the latencies
)

// A scale is the logarithmic axis that the latencies of all thumbnails of an index have in common, in ms.
type scale struct {
	lo, hi float64
	end    float64 // of the longest run, in seconds
}

// newScale fits the axes to the runs.
func newScale(runs []run) scale {
	s := scale{lo: math.Inf(1)}
	for i := range runs {
		r := runs[i].Result
		if r == nil {
			continue
		}
		for _, ns := range []*int64{r.Latency.Acquire.P50Ns, r.Latency.Acquire.P99Ns, r.Latency.Acquire.MaxNs} {
			if ns != nil {
				s.lo, s.hi = min(s.lo, chart.Millis(*ns)), max(s.hi, chart.Millis(*ns))
			}
		}
		if to := r.Window.ToNs; to != nil {
			s.end = max(s.end, chart.Seconds(*to))
		}
	}
	if s.hi > 0 {
		s.lo, s.hi = chart.FitLog(s.lo, s.hi)
	}
	return s
}

// says explains the thumbnails.
func (s scale) says() string {
	if s.hi <= 0 {
		return "No run measured a latency."
	}
	return fmt.Sprintf("The small pictures have one scale. Above: how long acquisitions took, the median (dot), the "+
		"99th percentile (bar) and the longest (line), logarithmic from %s to %s. Below: the measured window of each run "+
		"and its faults, %s at most.", words.Duration(int64(s.lo*1e6)), words.Duration(int64(s.hi*1e6)),
		words.Duration(int64(s.end*1e9)))
}

func (s scale) x(share float64) vg.Length {
	return thumbMargin + vg.Length(min(max(share, 0), 1))*(thumbWidth-2*thumbMargin)
}

func (s scale) latency(ns int64) vg.Length {
	return s.x(math.Log(chart.Millis(ns)/s.lo) / math.Log(s.hi/s.lo))
}

// thumbnail draws the latencies of a run and when its faults struck.
func (s scale) thumbnail(i int, r *run) template.HTML {
	in := chart.NewInline(thumbWidth, thumbHeight)
	c := draw.New(in)
	a := &r.Result.Latency.Acquire
	says := "no acquisitions were measured"
	y := vg.Length(thumbHeight+stripHeight) / 2
	c.StrokeLine2(draw.LineStyle{Color: chart.LightGrey, Width: 0.5}, thumbMargin, y, thumbWidth-thumbMargin, y)
	if a.P50Ns != nil && a.MaxNs != nil && s.hi > 0 {
		from, to := s.latency(*a.P50Ns), s.latency(*a.MaxNs)
		says = "acquire: median " + words.Duration(*a.P50Ns) + ", longest " + words.Duration(*a.MaxNs)
		c.StrokeLine2(draw.LineStyle{Color: chart.Blue, Width: 1}, from, y, to, y)
		chart.FillRect(&c, to-0.5, to+0.5, y-4, y+4, chart.Blue)
		if a.P99Ns != nil {
			says += ", p99 " + words.Duration(*a.P99Ns)
			chart.FillRect(&c, from, s.latency(*a.P99Ns), y-2.5, y+2.5, chart.Blue)
		}
		c.DrawGlyph(draw.GlyphStyle{Color: chart.Blue, Radius: 4, Shape: draw.CircleGlyph{}}, vg.Point{X: from, Y: y})
	}
	if w := r.Result.Window; w.FromNs != nil && w.ToNs != nil && s.end > 0 {
		at := func(ns int64) vg.Length { return s.x(chart.Seconds(ns) / s.end) }
		chart.FillRect(&c, at(*w.FromNs), at(*w.ToNs), 2, 2+stripHeight/2, chart.LightGrey)
		faults := 0
		for _, f := range r.Result.Faults {
			if f.InjectedNs == nil {
				continue
			}
			to := *w.ToNs
			if f.HealedNs != nil {
				to = *f.HealedNs
			}
			faults++
			chart.FillRect(&c, at(*f.InjectedNs), max(at(to), at(*f.InjectedNs)+1), 1, 3+stripHeight/2, chart.DarkOrange)
		}
		if faults > 0 {
			says += "; " + words.Count(int64(faults), "fault")
		}
	}
	return in.Element(fmt.Sprintf("run-%d", i+1), says, chart.Attribute{Name: "width", Value: fmt.Sprint(thumbWidth)})
}
