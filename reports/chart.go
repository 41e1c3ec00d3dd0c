package reports

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A chart is a plot whose legend is a row between title and data, where it
// covers nothing.
type chart struct {
	*plot.Plot
	title  string
	yLabel string
	keys   []key
}

// A key is one entry of a legend.
type key struct {
	text  string
	thumb plot.Thumbnailer
}

// newChart is an empty chart in the house style. Fonts are set here rather than
// by plot.DefaultFont, which belongs to the whole process.
func newChart(title, x, y string) *chart {
	p := plot.New()
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Font = sans(textSize)
		a.Label.Padding = 6
		a.Tick.Label.Font = sans(textSize)
		a.Tick.Color, a.Color = grey, grey
	}
	p.X.Label.Text = x
	return &chart{Plot: p, title: title, yLabel: y}
}

// explain adds an entry to the legend.
func (ch *chart) explain(text string, thumb plot.Thumbnailer) {
	ch.keys = append(ch.keys, key{text, thumb})
}

// The heights of the rows above the data.
const (
	titleRow  = 20
	legendRow = 18
	margin    = 6
)

// Draw draws title, legend and plot.
func (ch *chart) Draw(c draw.Canvas) {
	fillRect(&c, c.Min.X, c.Max.X, c.Min.Y, c.Max.Y, color.White)
	c = draw.Crop(c, margin, -2*margin, margin, -margin)
	c.FillText(bold(textStyle(titleSize, black)), vg.Point{X: c.Min.X, Y: c.Max.Y - titleRow/2}, ch.title)
	drawKeys(draw.Crop(c, 0, 0, 0, -titleRow), ch.keys)
	rows := countRows(ch.keys)
	c = draw.Crop(c, 0, 0, 0, -titleRow-legendRow*vg.Length(rows)-margin)
	// Ours, because gonum makes room for a label as if every axis were linear.
	style := textStyle(textSize, black)
	style.Rotation, style.XAlign = math.Pi/2, draw.XCenter
	c.FillText(style, vg.Point{X: c.Min.X + legendRow/4, Y: c.Center().Y}, ch.yLabel)
	ch.Plot.Draw(draw.Crop(c, legendRow, 0, 0, 0))
}

// The sizes of a legend's entries.
const (
	keyThumb = 20
	keyGap   = 5
	keySpace = 16
)

// keyPlaces returns where each entry of a legend goes: its x, and its row.
func keyPlaces(keys []key, width vg.Length) (x []vg.Length, row []int) {
	style := textStyle(textSize, black)
	at, r := vg.Length(0), 0
	for _, k := range keys {
		w := keyThumb + keyGap + style.Width(k.text)
		if at > 0 && at+w > width {
			at, r = 0, r+1
		}
		x, row = append(x, at), append(row, r)
		at += w + keySpace
	}
	return x, row
}

// countRows returns how many rows a legend of a whole picture takes.
func countRows(keys []key) int {
	if len(keys) == 0 {
		return 0
	}
	_, row := keyPlaces(keys, pictureWidth-3*margin)
	return row[len(row)-1] + 1
}

// drawKeys draws a legend in rows at the top of c.
func drawKeys(c draw.Canvas, keys []key) {
	style := textStyle(textSize, black)
	places, rows := keyPlaces(keys, pictureWidth-3*margin)
	for i, k := range keys {
		x, y := c.Min.X+places[i], c.Max.Y-legendRow*(vg.Length(rows[i])+0.5)
		box := draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{Min: vg.Point{X: x, Y: y - 4}, Max: vg.Point{X: x + keyThumb, Y: y + 4}}}
		k.thumb.Thumbnail(&box)
		c.FillText(style, vg.Point{X: x + keyThumb + keyGap, Y: y}, k.text)
	}
}

// A swatch is a legend's filled rectangle.
type swatch struct{ color.Color }

// Thumbnail implements plot.Thumbnailer.
func (s swatch) Thumbnail(c *draw.Canvas) { fillRect(c, c.Min.X, c.Max.X, c.Min.Y, c.Max.Y, s.Color) }
