package runpage

import (
	"fmt"
	"image/color"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"locklab/harness/history"
	"locklab/reports/chart"
	"locklab/reports/result"
	"locklab/reports/words"
)

// The sizes of a timeline.
const (
	laneHeight  = 23
	barHeight   = 14
	readHeight  = 9
	momentRow   = 13
	momentRows  = 6
	axisHeight  = 38
	labelMargin = 8
)

// timelineFigure draws a piece of the run to scale, one row per client.
func timelineFigure(in result.Input, w result.Interval, faults []faultSpan) chart.Figure {
	f := chart.Figure{
		Name: "timeline",
		Caption: "To scale. Each row is a client: pale while it waits for the lock, solid while it believes it holds " +
			"it, red while another one believes so too. " +
			"“Held at the servers” is what a watching client was told, a little late; the resource's row has every access.",
		Absent: "No client got a lock.",
	}
	t, ok := newTimeline(in, w, faults)
	if !ok {
		return f
	}
	if t.HeldErr > 0 {
		f.Caption = strings.Replace(f.Caption, "is what a watching client was told, a little late",
			"is what their transaction logs say, by when the leader prepared each transaction, to within "+
				""+words.Duration(t.HeldErr)+" either way", 1)
	}
	if t.Kept {
		f.Caption = strings.Replace(f.Caption, "the resource's row has every access",
			"what the lock protects is in ZooKeeper, and its row has every access when its client learned the outcome", 1)
	}
	switch {
	case t.Modes[history.ModeRead]:
		f.Caption = strings.Replace(f.Caption, "red while another one believes so too",
			"lower if only to read, red while a client that it excludes believes so too", 1)
	case t.Modes[history.ModePermit]:
		f.Caption = strings.Replace(f.Caption, "believes it holds it, red while another one believes so too",
			"believes it has a permit, red where more are believed held than there are: the newest, and one that should "+
				"have gone", 1)
	}
	d := timelineDrawing{timeline: t}
	d.layout()
	f.Height = d.height()
	f.Draw = d.draw
	return f
}

// A timelineDrawing is a timeline and where its parts are on the page.
type timelineDrawing struct {
	timeline
	keys        []chart.Key
	left, right vg.Length // the time axis
	labels      []chart.Label
	labelRows   int
	keyRows     int
	bad         map[string]bool // texts of moments that went wrong
}

const (
	heldName     = "held at the servers"
	resourceName = "resource"
	resourceNote = "(its own record)"
	keptName     = "kept by ZooKeeper"
	keptNote     = "(as clients learned)"
)

// witness returns the name of the row of accesses, which says whether the resource or clients recorded them.
func (t *timeline) witness() (name, note string) {
	if t.Kept {
		return keptName, keptNote
	}
	return resourceName, resourceNote
}

func (d *timelineDrawing) layout() {
	style, small := chart.TextStyle(chart.TextSize, chart.Black), chart.TextStyle(chart.SmallSize, chart.Black)
	width := vg.Length(0)
	for _, l := range d.Lanes {
		width = max(width, style.Width(l.Client))
	}
	if d.Held != nil {
		width = max(width, style.Width(heldName), small.Width(d.HeldBy))
	}
	if d.Accesses != nil {
		name, note := d.witness()
		width = max(width, style.Width(name), small.Width(note))
	}
	d.left, d.right = chart.Margin+width+labelMargin, chart.PictureWidth-2*chart.Margin
	d.bad = map[string]bool{}
	var labels []chart.Label
	for _, m := range d.Moments {
		labels = append(labels, chart.Label{X: d.x(m.At), Text: m.Text})
		d.bad[m.Text] = m.Bad
	}
	d.labels, d.labelRows = chart.Place(labels, small, d.left, d.right, momentRows)
	d.keys = d.legend()
	d.keyRows = chart.CountRows(d.keys)
}

// x is the place of a time of the run, within the axis.
func (d *timelineDrawing) x(t int64) vg.Length {
	share := float64(t-d.From) / float64(d.To-d.From)
	return d.left + vg.Length(min(max(share, 0), 1))*(d.right-d.left)
}

func (d *timelineDrawing) rows() int {
	n := len(d.Lanes)
	if d.Held != nil {
		n++
	}
	if d.Accesses != nil {
		n++
	}
	return n
}

func (d *timelineDrawing) height() vg.Length {
	return 3*chart.Margin + chart.TitleRow + chart.LegendRow*vg.Length(d.keyRows) + d.bandHeight() +
		laneHeight*vg.Length(d.rows()) + axisHeight
}

// bandHeight is the height of the labels above the lanes.
func (d *timelineDrawing) bandHeight() vg.Length {
	return momentRow*vg.Length(d.labelRows) + momentRow + chart.Margin // one more row is for the names of faults
}

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
	}
	d.drawMoments(&c, bottom, top)
}

// drawFaults shades the faults, and names them just above.
func (d *timelineDrawing) drawFaults(c *draw.Canvas, bottom, top vg.Length) {
	var labels []chart.Label
	for _, f := range d.Faults {
		chart.FillRect(c, d.x(f.From), max(d.x(f.To), d.x(f.From)+1), bottom, top+momentRow, chart.Shade)
		labels = append(labels, chart.Label{X: d.x(f.From), Text: f.Label()})
	}
	style := chart.TextStyle(chart.SmallSize, chart.DarkOrange)
	placed, _ := chart.Place(labels, style, d.left, d.right, 1)
	for _, l := range placed {
		l.Write(c, style, top+momentRow/2)
	}
}

func (d *timelineDrawing) drawAxis(c *draw.Canvas, bottom vg.Length) {
	style := chart.TextStyle(chart.TextSize, chart.Black)
	style.XAlign, style.YAlign = draw.XCenter, draw.YTop
	line := draw.LineStyle{Color: chart.Grey, Width: 0.5}
	c.StrokeLine2(line, d.left, bottom, d.right, bottom)
	for _, t := range (chart.Even{Want: 10}).Ticks(chart.Seconds(d.From), chart.Seconds(d.To)) {
		x := d.x(int64(t.Value * 1e9))
		c.StrokeLine2(line, x, bottom, x, bottom-4)
		c.FillText(style, vg.Point{X: x, Y: bottom - 6}, t.Label)
	}
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

// bars fills spans of a lane. A span that is too short to see is drawn one point wide, and of several such spans on
// the same spot only the first.
func (d *timelineDrawing) bars(c *draw.Canvas, all []result.Span, y, height vg.Length, clr color.Color) {
	last := vg.Length(-1)
	for _, s := range all {
		if s.To <= d.From || s.From >= d.To {
			continue
		}
		x0, x1 := d.x(s.From), d.x(s.To)
		if x1-x0 < 0.5 && x0-last < 0.5 && last >= 0 {
			continue
		}
		last = x0
		chart.FillRect(c, x0, max(x1, x0+1), y-height/2, y+height/2, clr)
	}
}

func (d *timelineDrawing) drawLane(c *draw.Canvas, l *lane, y vg.Length) {
	c.StrokeLine2(draw.LineStyle{Color: chart.LightGrey, Width: 0.5}, d.left, y, d.right, y)
	d.name(c, y, l.Client, "")
	d.bars(c, l.Waits, y, barHeight/2, chart.Tint(l.Color, 0.3))
	d.bars(c, l.Holds, y, barHeight, l.Color)
	d.bars(c, l.Reads, y, readHeight, l.Color)
	if len(l.Reads) > 0 {
		d.bars(c, common(l.Double, l.Holds), y, barHeight, chart.Vermillion)
		d.bars(c, common(l.Double, l.Reads), y, readHeight, chart.Vermillion)
	} else {
		d.bars(c, l.Double, y, barHeight, chart.Vermillion)
	}
	for _, s := range l.Unsure {
		if s.Overlaps(d.Span) {
			outline(c, d.x(s.From), d.x(s.To), y-barHeight/2, y+barHeight/2, l.Color)
		}
	}
	for _, s := range l.Stopped {
		hatch(c, d.x(s.From), d.x(s.To), y-barHeight/2-2, y+barHeight/2+2)
	}
}

// common returns the times that are in spans of both.
func common(a, b []result.Span) (all []result.Span) {
	for _, x := range a {
		for _, y := range b {
			if both := (result.Span{From: max(x.From, y.From), To: min(x.To, y.To)}); both.From < both.To {
				all = append(all, both)
			}
		}
	}
	return all
}

func (d *timelineDrawing) color(client string) color.NRGBA {
	for i := range d.Lanes {
		if d.Lanes[i].Client == client {
			return d.Lanes[i].Color
		}
	}
	return chart.LightGrey
}

func (d *timelineDrawing) drawHeld(c *draw.Canvas, y vg.Length) {
	c.StrokeLine2(draw.LineStyle{Color: chart.Grey, Width: 0.5}, chart.Margin, y+laneHeight/2, d.right, y+laneHeight/2)
	d.name(c, y, heldName, d.HeldBy)
	rows := 1
	for _, s := range d.Held {
		rows = max(rows, s.Row+1)
	}
	height := vg.Length(barHeight) / vg.Length(rows)
	for row := range rows {
		byOwner := map[color.NRGBA][]result.Span{}
		var blurred []result.Span // where a hold may have begun or ended, drawn as error bars
		for _, s := range d.Held {
			if s.Row != row {
				continue
			}
			byOwner[d.color(s.Client)] = append(byOwner[d.color(s.Client)], s.Span)
			blurred = append(blurred, result.Span{From: s.From - d.HeldErr, To: s.From + d.HeldErr},
				result.Span{From: s.To - d.HeldErr, To: s.To + d.HeldErr})
		}
		at := y + (barHeight-height)/2 - height*vg.Length(row)
		for _, clr := range append([]color.NRGBA{chart.LightGrey}, chart.Owners[:]...) {
			d.bars(c, byOwner[clr], at, height, clr)
		}
		for _, s := range blurred {
			if d.HeldErr > 0 && s.Overlaps(d.Span) && d.x(s.To)-d.x(s.From) > 1 {
				c.StrokeLine2(draw.LineStyle{Color: chart.Black, Width: 0.5}, d.x(s.From), at, d.x(s.To), at)
			}
		}
	}
}

func (d *timelineDrawing) drawAccesses(c *draw.Canvas, y vg.Length) {
	c.StrokeLine2(draw.LineStyle{Color: chart.Grey, Width: 0.5}, chart.Margin, y+laneHeight/2, d.right, y+laneHeight/2)
	name, note := d.witness()
	d.name(c, y, name, note)
	type spot struct {
		x     int
		write bool
	}
	drawn := map[spot]bool{}
	for _, a := range d.Accesses {
		at := vg.Point{X: d.x(a.At), Y: y}
		here := spot{int(at.X * 2), a.Op == history.OpWrite}
		switch {
		case a.Refused:
			chart.Cross(c, at, 4, 1.8, chart.Black)
		case a.Stale:
			chart.FillRect(c, at.X-1.5, at.X+1.5, y-barHeight/2-3, y+barHeight/2+3, chart.Vermillion)
		case !drawn[here]:
			drawn[here] = true
			tick(c, at, here.write, d.color(a.Client))
		}
	}
}

// tick is an accepted access: long for a write, short for a read.
func tick(c *draw.Canvas, at vg.Point, write bool, clr color.Color) {
	h := vg.Length(barHeight) / 4
	if write {
		h = barHeight / 2
	}
	c.StrokeLine2(draw.LineStyle{Color: clr, Width: 1.3}, at.X, at.Y-h, at.X, at.Y+h)
}

func (d *timelineDrawing) drawMoments(c *draw.Canvas, bottom, top vg.Length) {
	for _, l := range d.labels {
		clr := chart.Black
		if d.bad[l.Text] {
			clr = chart.Vermillion
		}
		y := top - momentRow*(vg.Length(l.Row)+0.5)
		c.StrokeLine2(draw.LineStyle{Color: clr, Width: 0.8, Dashes: []vg.Length{3, 2}}, l.X, bottom, l.X, y+momentRow/2-2)
		l.Write(c, chart.TextStyle(chart.SmallSize, clr), y)
	}
}

// hatch draws diagonal lines over a rectangle.
func hatch(c *draw.Canvas, x0, x1, y0, y1 vg.Length) {
	style := draw.LineStyle{Color: chart.Black, Width: 0.5}
	const step = 5
	h := y1 - y0
	for x := x0 - h + step; x < x1; x += step {
		a, b := vg.Point{X: x, Y: y0}, vg.Point{X: x + h, Y: y1}
		if a.X < x0 {
			a = vg.Point{X: x0, Y: y0 + x0 - x}
		}
		if b.X > x1 {
			b = vg.Point{X: x1, Y: y0 + x1 - x}
		}
		c.StrokeLine2(style, a.X, a.Y, b.X, b.Y)
	}
	outline(c, x0, x1, y0, y1, chart.Black)
}

func outline(c *draw.Canvas, x0, x1, y0, y1 vg.Length, clr color.Color) {
	c.StrokeLines(draw.LineStyle{Color: clr, Width: 0.7},
		[]vg.Point{{X: x0, Y: y0}, {X: x1, Y: y0}, {X: x1, Y: y1}, {X: x0, Y: y1}, {X: x0, Y: y0}})
}
