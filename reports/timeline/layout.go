package timeline

import (
	"fmt"

	"gonum.org/v1/plot/vg"

	"locklab/reports/chart"
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

// A timelineDrawing is a timeline and where its parts are on the page.
type timelineDrawing struct {
	Timeline
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
func (t *Timeline) witness() (name, note string) {
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

func (d *timelineDrawing) time(x vg.Length) int64 {
	return d.From + int64(float64(x-d.left)/float64(d.right-d.left)*float64(d.Lasts()))
}

// x is the place of a time of the run, within the axis.
func (d *timelineDrawing) x(t int64) vg.Length {
	share := float64(t-d.From) / float64(d.Lasts())
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
