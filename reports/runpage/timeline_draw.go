package runpage

import (
	"fmt"
	"image/color"
	"slices"
	"strconv"
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

// figures draws the timelines of a run. Pictures that an earlier report may have had and that are no longer drawn are
// among them, so that they are removed.
func (ts *timelines) figures() (all []chart.Figure) {
	drawn := map[string]bool{}
	for i := range ts.All {
		all = append(all, ts.All[i].figure())
		drawn[ts.All[i].file] = true
	}
	for n := range maxParts + 2 {
		f := chart.Figure{Name: partName(n)}
		switch n {
		case 0:
			f = chart.Figure{Name: "timeline", Absent: "No client got a lock."}
		case maxParts + 1:
			f.Name = overviewName
		}
		if !drawn[f.Name] {
			all = append(all, f)
		}
	}
	return all
}

// figure draws a timeline to scale, one row per client.
func (t *timeline) figure() chart.Figure {
	d := timelineDrawing{timeline: *t}
	d.layout()
	micros := func(ns int64) string { return strconv.FormatInt(ns/1e3, 10) }
	return chart.Figure{Name: t.file, Title: t.Title, Caption: t.caption(), Height: d.height(), Draw: d.draw,
		Attributes: []chart.Attribute{{Name: "data-from", Value: micros(t.From)}, {Name: "data-to", Value: micros(t.To)},
			{Name: "data-left", Value: strconv.Itoa(int(d.left))}, {Name: "data-right", Value: strconv.Itoa(int(d.right))},
			{Name: "data-base", Value: strconv.Itoa(int(d.height() - d.bottom()))}, {Name: "data-lock", Value: t.Lock}}}
}

// caption says how to read the timeline.
func (t *timeline) caption() string {
	if t.Overview != nil {
		s := "To scale. Each row is a client, the stronger the more of the time it held a lock. Shaded: a fault was active."
		if longest := t.Overview.longestGap(); longest != "" {
			s += " The longest time in which no client got a lock, though one waited, was " + longest + "."
		} else {
			s += " Clients got locks throughout."
		}
		return s
	}
	if t.part > 1 { // the first one says how to read it
		return fmt.Sprintf("From %s to %s of the run, on %s.", seconds(t.From), seconds(t.To), t.Lock)
	}
	holds := "solid while it believes it holds it, red while another one believes so too"
	switch {
	case t.Modes[history.ModeRead]:
		holds = "solid while it believes it holds it, lower if only to read, red while a client that it excludes believes " +
			"so too"
	case t.Modes[history.ModePermit]:
		holds = "solid while it believes it has a permit, red where more are believed held than there are: the newest, and " +
			"one that should have gone"
	}
	s := "To scale. Each row is a client: pale while it waits for the lock, " + holds + "."
	switch {
	case t.HeldErr > 0:
		s += " “Held at the servers” is what their transaction logs say, by when the leader prepared each transaction, to " +
			"within " + words.Duration(t.HeldErr) + " either way."
	case t.Held != nil:
		s += " “Held at the servers” is what a watching client was told, a little late."
	}
	switch {
	case t.Accesses == nil:
	case t.Kept:
		s += " What the lock protects is in ZooKeeper; its row has every access when its client learned the outcome."
	default:
		s += " The resource’s row has every access."
	}
	if t.dense() {
		s += " Holds too short to see are drawn a point wide, and of several on the same spot the first."
	}
	return s
}

// dense reports whether a timeline has so many holds that it leaves out those that nobody could see.
func (t *timeline) dense() bool {
	n := 0
	for i := range t.Lanes {
		n += len(t.Lanes[i].Holds) + len(t.Lanes[i].Reads)
	}
	return n > mostHolds
}

// mostHolds is the most holds of a timeline that are all drawn, each as an element of its own.
const mostHolds = 1200

// A timelineDrawing is a timeline and where its parts are on the page.
type timelineDrawing struct {
	timeline
	keys        []chart.Key
	left, right vg.Length // the time axis
	labels      []chart.Label
	labelRows   int
	faultLabels []chart.Label
	faultRows   int
	keyRows     int
	bad         map[string]bool // texts of moments that went wrong
}

const (
	heldName     = "held at the servers"
	gapsName     = "nobody got a lock"
	foundName    = "found by the checks"
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
	if o := d.Overview; o != nil {
		width = max(width, style.Width(gapsName), style.Width(foundName))
	}
	d.left, d.right = chart.Margin+width+labelMargin, chart.PictureWidth-2*chart.Margin
	d.bad = map[string]bool{}
	var labels []chart.Label
	for _, m := range d.Moments {
		labels = append(labels, chart.Label{X: d.x(m.At), Text: m.Text})
		d.bad[m.Text] = m.Bad
	}
	d.labels, d.labelRows = chart.Place(labels, small, d.left, d.right, momentRows)
	d.faultLabels, d.faultRows = chart.Place(d.namedFaults(), small, d.left, d.right, 4)
	d.keys = d.legend()
	d.keyRows = chart.CountRows(d.keys)
}

// namedFaults returns the names of the faults, with the number of the part that shows each in an overview.
func (d *timelineDrawing) namedFaults() (labels []chart.Label) {
	for _, f := range d.Faults {
		text := f.Label()
		if d.Overview != nil {
			for _, p := range d.Overview.Parts {
				if p.part > 0 && p.Fault != nil && p.Fault.ID == f.ID {
					text = fmt.Sprintf("%d: %s", p.part, text)
				}
			}
		}
		labels = append(labels, chart.Label{X: d.x(f.From), Text: text})
	}
	return labels
}

// time is the time of a place on the axis.
func (d *timelineDrawing) time(x vg.Length) int64 {
	return d.From + int64(float64(x-d.left)/float64(d.right-d.left)*float64(d.To-d.From))
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
	if d.Overview != nil {
		n += len(d.Overview.rows())
	}
	return n
}

func (d *timelineDrawing) height() vg.Length {
	return 3*chart.Margin + chart.TitleRow + chart.LegendRow*vg.Length(d.keyRows) + d.bandHeight() +
		laneHeight*vg.Length(d.rows()) + axisHeight
}

// bandHeight is the height of the labels above the lanes.
func (d *timelineDrawing) bandHeight() vg.Length {
	return momentRow*vg.Length(d.labelRows+max(d.faultRows, 1)) + chart.Margin
}

// bottom is the height of the time axis above the lower edge.
func (d *timelineDrawing) bottom() vg.Length { return axisHeight + chart.Margin }

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
func during(c *draw.Canvas, s result.Span, draw func(), more ...chart.Attribute) {
	chart.Describe(c, draw, append([]chart.Attribute{{Name: "data-a", Value: strconv.FormatInt(s.From/1e3, 10)},
		{Name: "data-b", Value: strconv.FormatInt(s.To/1e3, 10)}}, more...)...)
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
			chart.FillRect(c, d.x(f.From), max(d.x(f.To), d.x(f.From)+1), bottom, top+rows, chart.Shade)
		})
	}
	style := chart.TextStyle(chart.SmallSize, chart.DarkOrange)
	for _, l := range d.faultLabels {
		instant(c, d.time(l.X), func() { l.Write(c, style, top+rows-momentRow*(vg.Length(l.Row)+0.5)) })
	}
}

// drawOverview draws the rows of an overview below the clients.
func (d *timelineDrawing) drawOverview(c *draw.Canvas, y vg.Length) {
	for _, name := range d.Overview.rows() {
		c.StrokeLine2(draw.LineStyle{Color: chart.Grey, Width: 0.5}, chart.Margin, y+laneHeight/2, d.right, y+laneHeight/2)
		d.name(c, y, name, "")
		if name == gapsName {
			for _, s := range d.Overview.Gaps {
				during(c, s, func() {
					chart.FillRect(c, d.x(s.From), max(d.x(s.To), d.x(s.From)+1), y-barHeight/2, y+barHeight/2, chart.Grey)
				})
			}
		} else {
			last := vg.Length(-1)
			for _, at := range d.Overview.Found {
				if x := d.x(at); x-last >= 1 {
					last = x
					instant(c, at, func() { chart.FillRect(c, x-1, x+1, y-barHeight/2, y+barHeight/2, chart.Vermillion) })
				}
			}
		}
		y -= laneHeight
	}
}

func (d *timelineDrawing) drawAxis(c *draw.Canvas, bottom vg.Length) {
	style := chart.TextStyle(chart.TextSize, chart.Black)
	style.XAlign, style.YAlign = draw.XCenter, draw.YTop
	line := draw.LineStyle{Color: chart.Grey, Width: 0.5}
	c.StrokeLine2(line, d.left, bottom, d.right, bottom)
	chart.Group(c, func() {
		for _, t := range (chart.Even{Want: 10}).Ticks(chart.Seconds(d.From), chart.Seconds(d.To)) {
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

// bars fills spans of a lane. A span that is too short to see is drawn one point wide, and in a dense timeline of
// several such spans on the same spot only the first.
func (d *timelineDrawing) bars(c *draw.Canvas, all []result.Span, y, height vg.Length, clr color.Color,
	more ...chart.Attribute) {
	last, dense := vg.Length(-1), d.dense()
	for _, s := range all {
		if s.To <= d.From || s.From >= d.To {
			continue
		}
		x0, x1 := d.x(s.From), d.x(s.To)
		if dense && x1-x0 < 0.5 && x0-last < 0.5 && last >= 0 {
			continue
		}
		last = x0
		during(c, s, func() { chart.FillRect(c, x0, max(x1, x0+1), y-height/2, y+height/2, clr) }, more...)
	}
}

// holdBars draws holds. On a page each says what is known of it.
func (d *timelineDrawing) holdBars(c *draw.Canvas, all []hold, y, height vg.Length, clr color.Color) {
	last, dense := vg.Length(-1), d.dense()
	for i := range all {
		h := &all[i]
		if h.To <= d.From || h.From >= d.To {
			continue
		}
		x0, x1 := d.x(h.From), d.x(h.To)
		if dense && x1-x0 < 0.5 && x0-last < 0.5 && last >= 0 {
			continue
		}
		last = x0
		during(c, h.Span, func() { chart.FillRect(c, x0, max(x1, x0+1), y-height/2, y+height/2, clr) },
			chart.Attribute{Name: "data-hold", Value: h.details()})
	}
}

// details is what is known of a hold besides its client and its times.
func (h *hold) details() string {
	s := fmt.Sprintf("acquisition %d, token %d", h.N, h.Token)
	switch {
	case h.Lost != history.None && (h.ReleaseInvoked == history.None || h.Lost < h.ReleaseInvoked):
		s += ", learned that it was lost"
	case h.ReleaseInvoked != history.None:
		s += ", released"
	case h.Died != history.None:
		s += ", its process died"
	}
	if h.First != 0 {
		s += fmt.Sprintf("; zxid %#x", h.First)
		if h.Last != 0 {
			s += fmt.Sprintf(" to %#x", h.Last)
		}
	}
	if len(h.Lines) > 0 {
		s += "; history.jsonl " + strings.Trim(fmt.Sprint(h.Lines[:min(len(h.Lines), 12)]), "[]")
	}
	return s
}

// spansOf returns the times of holds.
func spansOf(all []hold) (spans []result.Span) {
	for _, h := range all {
		spans = append(spans, h.Span)
	}
	return spans
}

func (d *timelineDrawing) drawLane(c *draw.Canvas, l *lane, y vg.Length) {
	chart.Group(c, func() {
		c.StrokeLine2(draw.LineStyle{Color: chart.LightGrey, Width: 0.5}, d.left, y, d.right, y)
		d.name(c, y, l.Client, "")
		for _, s := range l.Shares {
			d.bars(c, []result.Span{s.Span}, y, barHeight, chart.Tint(l.Color, shareLevels[s.Level-1].strength))
		}
		d.bars(c, l.Waits, y, barHeight/2, chart.Tint(l.Color, 0.3))
		d.holdBars(c, l.Holds, y, barHeight, l.Color)
		d.holdBars(c, l.Reads, y, readHeight, l.Color)
		over := chart.Attribute{Name: "data-over", Value: "1"}
		if len(l.Reads) > 0 {
			d.bars(c, common(l.Double, spansOf(l.Holds)), y, barHeight, chart.Vermillion, over)
			d.bars(c, common(l.Double, spansOf(l.Reads)), y, readHeight, chart.Vermillion, over)
		} else {
			d.bars(c, l.Double, y, barHeight, chart.Vermillion, over)
		}
		for _, s := range slices.Concat(l.Unsure, l.After) {
			if s.Overlaps(d.Span) {
				during(c, s, func() {
					chart.OutlineRect(c, d.x(s.From), max(d.x(s.To), d.x(s.From)+1), y-barHeight/2, y+barHeight/2, l.Color)
				}, over)
			}
		}
		for _, s := range l.Stopped {
			during(c, s, func() { chart.HatchRect(c, d.x(s.From), d.x(s.To), y-barHeight/2-2, y+barHeight/2+2) }, over)
		}
		for _, a := range d.Accesses { // the writer's own row shows the write that matters, whatever it believed then
			if a.Client == l.Client && (a.Stale || a.Refused) {
				instant(c, a.Called, func() { d.drawCall(c, a, y) })
			}
		}
	}, chart.Attribute{Name: "data-client", Value: l.Client})
}

// drawCall marks when a client called an access that was outdated.
func (d *timelineDrawing) drawCall(c *draw.Canvas, a access, y vg.Length) {
	at := d.x(a.Called)
	if a.Refused {
		chart.Cross(c, vg.Point{X: at, Y: y}, 4, 1.8, chart.Black)
		return
	}
	chart.FillRect(c, at-1, at+1, y-barHeight/2-3, y+barHeight/2+3, chart.Vermillion)
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

// color is the colour of a client that has a row.
func (d *timelineDrawing) color(client string) color.NRGBA {
	if slices.ContainsFunc(d.Lanes, func(l lane) bool { return l.Client == client }) {
		return d.colors.color(client)
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
				during(c, s, func() { chart.FillRect(c, d.x(s.From), d.x(s.To), at-0.25, at+0.25, chart.Black) })
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
			instant(c, a.At, func() { chart.Cross(c, at, 4, 1.8, chart.Black) })
		case a.Stale:
			instant(c, a.At, func() {
				chart.FillRect(c, at.X-1.5, at.X+1.5, y-barHeight/2-3, y+barHeight/2+3, chart.Vermillion)
			})
		case !drawn[here]:
			drawn[here] = true
			instant(c, a.At, func() { tick(c, at, here.write, d.color(a.Client)) })
		}
	}
}

// tick is an accepted access: long for a write, short for a read.
func tick(c *draw.Canvas, at vg.Point, write bool, clr color.Color) {
	h := vg.Length(barHeight) / 4
	if write {
		h = barHeight / 2
	}
	chart.FillRect(c, at.X-0.65, at.X+0.65, at.Y-h, at.Y+h, clr)
}

func (d *timelineDrawing) drawMoments(c *draw.Canvas, bottom, top vg.Length) {
	for _, l := range d.labels {
		clr := chart.Black
		if d.bad[l.Text] {
			clr = chart.Vermillion
		}
		y := top - momentRow*(vg.Length(l.Row)+0.5)
		instant(c, d.time(l.X), func() {
			c.StrokeLine2(draw.LineStyle{Color: clr, Width: 0.8, Dashes: []vg.Length{3, 2}}, l.X, bottom, l.X, y+momentRow/2-2)
			l.Write(c, chart.TextStyle(chart.SmallSize, clr), y)
		})
	}
}
