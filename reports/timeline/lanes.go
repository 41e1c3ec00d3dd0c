package timeline

import (
	"fmt"
	"image/color"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"locklab/harness/check/spans"
	"locklab/harness/history"
	"locklab/reports/chart"
)

// bars fills spans of a lane. A span that is too short to see is drawn one point wide, and in a dense timeline of
// several such spans on the same spot only the first.
func (d *timelineDrawing) bars(c *draw.Canvas, all []spans.Span, y, height vg.Length, clr color.Color,
	more ...chart.Attribute) {
	last, dense := vg.Length(-1), d.dense()
	for _, s := range all {
		if s.Until <= d.From || s.From >= d.Until {
			continue
		}
		x0, x1 := d.x(s.From), d.x(s.Until)
		if dense && x1-x0 < 0.5 && x0-last < 0.5 && last >= 0 {
			continue
		}
		last = x0
		during(c, s, func() { chart.FillRect(c, x0, max(x1, x0+1), y-height/2, y+height/2, clr) }, more...)
	}
}

// holdBars draws holds. On a page each says what is known of it.
func (d *timelineDrawing) holdBars(c *draw.Canvas, all []Hold, y, height vg.Length, clr color.Color) {
	last, dense := vg.Length(-1), d.dense()
	for i := range all {
		h := &all[i]
		if h.Until <= d.From || h.From >= d.Until {
			continue
		}
		x0, x1 := d.x(h.From), d.x(h.Until)
		if dense && x1-x0 < 0.5 && x0-last < 0.5 && last >= 0 {
			continue
		}
		last = x0
		during(c, h.Span, func() { chart.FillRect(c, x0, max(x1, x0+1), y-height/2, y+height/2, clr) },
			chart.Attribute{Name: "data-hold", Value: h.Details()})
	}
}

// Details is what is known of a hold besides its client and its times.
func (h *Hold) Details() string {
	s := fmt.Sprintf("acquisition %d, token %d", h.N, h.Token)
	switch {
	case h.Lost != history.None && (h.ReleaseInvoked == history.None || h.Lost < h.ReleaseInvoked):
		s += ", learned that it was lost"
	case h.ReleaseInvoked != history.None:
		s += ", released"
	case h.Died != history.None:
		s += ", its process died"
	case h.Unsure:
		s += ", may have lasted longer"
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
func spansOf(all []Hold) (times []spans.Span) {
	for _, h := range all {
		times = append(times, h.Span)
	}
	return times
}

func (d *timelineDrawing) drawLane(c *draw.Canvas, l *Lane, y vg.Length) {
	chart.Group(c, func() {
		c.StrokeLine2(draw.LineStyle{Color: chart.LightGrey, Width: 0.5}, d.left, y, d.right, y)
		d.name(c, y, l.Client, "")
		for _, s := range l.Shares {
			d.bars(c, []spans.Span{s.Span}, y, barHeight, chart.Tint(l.Color, shareLevels[s.Level-1].strength))
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
					chart.OutlineRect(c, d.x(s.From), max(d.x(s.Until), d.x(s.From)+1), y-barHeight/2, y+barHeight/2, l.Color)
				}, over)
			}
		}
		for _, s := range l.Stopped {
			during(c, s, func() { chart.HatchRect(c, d.x(s.From), d.x(s.Until), y-barHeight/2-2, y+barHeight/2+2) }, over)
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
func common(a spans.List, b []spans.Span) (all []spans.Span) {
	for _, s := range b {
		all = slices.AppendSeq(all, a.Cut(s.From, s.Until))
	}
	return all
}

func (d *timelineDrawing) color(client string) color.NRGBA {
	if slices.ContainsFunc(d.Lanes, func(l Lane) bool { return l.Client == client }) {
		return d.colors.Color(client)
	}
	return chart.LightGrey
}

// drawOverview draws the rows of an overview below the clients.
func (d *timelineDrawing) drawOverview(c *draw.Canvas, y vg.Length) {
	for _, name := range d.Overview.rows() {
		c.StrokeLine2(draw.LineStyle{Color: chart.Grey, Width: 0.5}, chart.Margin, y+laneHeight/2, d.right, y+laneHeight/2)
		d.name(c, y, name, "")
		if name == gapsName {
			for _, s := range d.Overview.Gaps {
				during(c, s, func() {
					chart.FillRect(c, d.x(s.From), max(d.x(s.Until), d.x(s.From)+1), y-barHeight/2, y+barHeight/2, chart.Grey)
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

func (d *timelineDrawing) drawHeld(c *draw.Canvas, y vg.Length) {
	c.StrokeLine2(draw.LineStyle{Color: chart.Grey, Width: 0.5}, chart.Margin, y+laneHeight/2, d.right, y+laneHeight/2)
	d.name(c, y, heldName, d.HeldBy)
	rows := 1
	for _, s := range d.Held {
		rows = max(rows, s.Row+1)
	}
	height := vg.Length(barHeight) / vg.Length(rows)
	for row := range rows {
		byOwner := map[color.NRGBA][]spans.Span{}
		var blurred []spans.Span // where a hold may have begun or ended, drawn as error bars
		for _, s := range d.Held {
			if s.Row != row {
				continue
			}
			byOwner[d.color(s.Client)] = append(byOwner[d.color(s.Client)], s.Span)
			blurred = append(blurred, spans.Span{From: s.From - d.HeldErr, Until: s.From + d.HeldErr},
				spans.Span{From: s.Until - d.HeldErr, Until: s.Until + d.HeldErr})
		}
		at := y + (barHeight-height)/2 - height*vg.Length(row)
		for _, clr := range append([]color.NRGBA{chart.LightGrey}, chart.Owners[:]...) {
			d.bars(c, byOwner[clr], at, height, clr)
		}
		for _, s := range blurred {
			if d.HeldErr > 0 && s.Overlaps(d.Span) && d.x(s.Until)-d.x(s.From) > 1 {
				during(c, s, func() { chart.FillRect(c, d.x(s.From), d.x(s.Until), at-0.25, at+0.25, chart.Black) })
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
