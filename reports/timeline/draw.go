package timeline

import (
	"fmt"
	"image/color"
	"slices"
	"strconv"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"locklab/harness/check/spans"
	"locklab/reports/chart"
)

func (d *timelineDrawing) draw(c draw.Canvas) {
	chart.FillRect(&c, c.Min.X, c.Max.X, c.Min.Y, c.Max.Y, color.White)
	top := c.Max.Y - 2*chart.Margin
	c.FillText(chart.Bold(chart.TextStyle(chart.TitleSize, chart.Black)),
		vg.Point{X: chart.Margin, Y: top - chart.TitleRow/2}, d.Title)
	top -= chart.TitleRow
	chart.DrawKeys(draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{Min: vg.Point{X: chart.Margin, Y: c.Min.Y},
		Max: vg.Point{X: chart.PictureWidth - chart.Margin, Y: top}}}, d.keys)
	top -= chart.LegendRow * vg.Length(d.keyRows)
	bottom := top - d.bandHeight() - laneHeight*vg.Length(d.rows())
	lanes := top - d.bandHeight()

	d.drawFaults(&c, bottom, lanes)
	d.drawAxis(&c, bottom)
	y := lanes
	for i := range d.Lanes {
		d.drawLane(&c, &d.Lanes[i], y-laneHeight/2)
		y -= laneHeight
	}
	if d.Held != nil {
		d.drawHeld(&c, y-laneHeight/2)
		y -= laneHeight
	}
	if d.Accesses != nil {
		d.drawAccesses(&c, y-laneHeight/2)
		y -= laneHeight
	}
	if d.Overview != nil {
		d.drawOverview(&c, y-laneHeight/2)
	}
	d.drawMoments(&c, bottom, top)
}

// during draws what lasted for a span of the run: the page's script can move it.
func during(c *draw.Canvas, s spans.Span, draw func(), more ...chart.Attribute) {
	chart.Describe(c, draw, append([]chart.Attribute{{Name: "data-a", Value: strconv.FormatInt(s.From/1e3, 10)},
		{Name: "data-b", Value: strconv.FormatInt(s.Until/1e3, 10)}}, more...)...)
}

// instant draws what happened at a time of the run.
func instant(c *draw.Canvas, at int64, draw func()) {
	chart.Describe(c, draw, chart.Attribute{Name: "data-a", Value: strconv.FormatInt(at/1e3, 10)})
}

// drawFaults shades the faults, and names them just above.
func (d *timelineDrawing) drawFaults(c *draw.Canvas, bottom, top vg.Length) {
	rows := momentRow * vg.Length(max(d.faultRows, 1))
	for _, f := range d.Faults {
		during(c, f.Span, func() {
			chart.FillRect(c, d.x(f.From), max(d.x(f.Until), d.x(f.From)+1), bottom, top+rows, chart.Shade)
		})
	}
	style := chart.TextStyle(chart.SmallSize, chart.DarkOrange)
	for _, l := range d.faultLabels {
		instant(c, d.time(l.X), func() { l.Write(c, style, top+rows-momentRow*(vg.Length(l.Row)+0.5)) })
	}
}

func (d *timelineDrawing) drawAxis(c *draw.Canvas, bottom vg.Length) {
	style := chart.TextStyle(chart.TextSize, chart.Black)
	style.XAlign, style.YAlign = draw.XCenter, draw.YTop
	line := draw.LineStyle{Color: chart.Grey, Width: 0.5}
	c.StrokeLine2(line, d.left, bottom, d.right, bottom)
	chart.Group(c, func() {
		for _, t := range (chart.Even{Want: 10}).Ticks(chart.Seconds(d.From), chart.Seconds(d.Until)) {
			x := d.x(int64(t.Value * 1e9))
			c.StrokeLine2(line, x, bottom, x, bottom-4)
			c.FillText(style, vg.Point{X: x, Y: bottom - 6}, t.Label)
		}
	}, chart.Attribute{Name: "class", Value: "ticks"})
	c.FillText(style, vg.Point{X: (d.left + d.right) / 2, Y: bottom - 22}, "seconds since the start of the run")
	if d.Hidden > 0 {
		style = chart.TextStyle(chart.SmallSize, chart.Grey)
		style.YAlign = draw.YTop
		c.FillText(style, vg.Point{X: chart.Margin, Y: bottom - 22}, fmt.Sprintf("%d more clients have no row", d.Hidden))
	}
}

func (d *timelineDrawing) name(c *draw.Canvas, y vg.Length, name, note string) {
	style := chart.TextStyle(chart.TextSize, chart.Black)
	style.XAlign = draw.XRight
	if note != "" {
		small := chart.TextStyle(chart.SmallSize-1, chart.Grey)
		small.XAlign = draw.XRight
		c.FillText(small, vg.Point{X: d.left - labelMargin, Y: y - 5}, note)
		y += 5
	}
	c.FillText(style, vg.Point{X: d.left - labelMargin, Y: y}, name)
}

func (d *timelineDrawing) drawMoments(c *draw.Canvas, bottom, top vg.Length) {
	for _, l := range d.labels {
		clr := chart.Black
		if d.bad[l.Text] {
			clr = chart.Vermillion
		}
		y := top - momentRow*(vg.Length(l.Row)+0.5)
		line := draw.LineStyle{Color: clr, Width: 0.8, Dashes: []vg.Length{3, 2}}
		instant(c, d.time(l.X), func() {
			from := bottom
			if d.crossesFault(l.X) { // the line would run through the fault's name
				c.StrokeLine2(line, l.X, from, l.X, top-d.bandHeight())
				from = top - momentRow*vg.Length(d.labelRows)
			}
			c.StrokeLine2(line, l.X, from, l.X, y+momentRow/2-2)
			l.Write(c, chart.TextStyle(chart.SmallSize, clr), y)
		})
	}
}

// crossesFault reports whether a line at x would cross the name of a fault.
func (d *timelineDrawing) crossesFault(x vg.Length) bool {
	const gap = 3 // between a place and its label
	style := chart.TextStyle(chart.SmallSize, chart.DarkOrange)
	return slices.ContainsFunc(d.faultLabels, func(l chart.Label) bool {
		from, to := l.X+gap, l.X+gap+style.Width(l.Text)
		if l.Left {
			from, to = l.X-gap-style.Width(l.Text), l.X-gap
		}
		return from < x && x < to
	})
}
