package timeline

import (
	"image/color"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"locklab/harness/history"
	"locklab/reports/chart"
	"locklab/reports/measure"
)

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

func (d *timelineDrawing) drawHeld(c *draw.Canvas, y vg.Length) {
	c.StrokeLine2(draw.LineStyle{Color: chart.Grey, Width: 0.5}, chart.Margin, y+laneHeight/2, d.right, y+laneHeight/2)
	d.name(c, y, heldName, d.HeldBy)
	rows := 1
	for _, s := range d.Held {
		rows = max(rows, s.Row+1)
	}
	height := vg.Length(barHeight) / vg.Length(rows)
	for row := range rows {
		byOwner := map[color.NRGBA][]measure.Span{}
		var blurred []measure.Span // where a hold may have begun or ended, drawn as error bars
		for _, s := range d.Held {
			if s.Row != row {
				continue
			}
			byOwner[d.color(s.Client)] = append(byOwner[d.color(s.Client)], s.Span)
			blurred = append(blurred, measure.Span{From: s.From - d.HeldErr, To: s.From + d.HeldErr},
				measure.Span{From: s.To - d.HeldErr, To: s.To + d.HeldErr})
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
