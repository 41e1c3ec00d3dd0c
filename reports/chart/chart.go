package chart

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A Chart is a plot whose legend is in rows between title and data, where it covers nothing.
type Chart struct {
	*plot.Plot
	title  string
	yLabel string
	keys   []Key
}

// A Key is one entry of a legend.
type Key struct {
	Text  string
	Thumb plot.Thumbnailer
}

// New returns an empty chart in the style of all pictures. Fonts are set here and not by plot.DefaultFont, which
// belongs to the whole process.
func New(title, x, y string) *Chart {
	p := plot.New()
	p.BackgroundColor = nil // that of the picture shows through
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Font = Sans(TextSize)
		a.Label.Padding = 6
		a.Tick.Label.Font = Sans(TextSize)
		a.Tick.Color, a.Color = Grey, Grey
	}
	p.X.Label.Text = x
	return &Chart{Plot: p, title: title, yLabel: y}
}

// Explain adds an entry to the legend.
func (ch *Chart) Explain(text string, thumb plot.Thumbnailer) {
	ch.keys = append(ch.keys, Key{text, thumb})
}

// The heights of the rows above the data.
const (
	TitleRow  = 20
	LegendRow = 18
	Margin    = 6
)

// Draw draws title, legend and plot.
func (ch *Chart) Draw(c draw.Canvas) {
	c = drawHeader(c, ch.title, ch.keys)
	// The label is drawn here, because gonum makes room for it as if every axis were linear.
	style := TextStyle(TextSize, Black)
	style.Rotation, style.XAlign = math.Pi/2, draw.XCenter
	c.FillText(style, vg.Point{X: c.Min.X + LegendRow/4, Y: c.Center().Y}, ch.yLabel)
	ch.Plot.Draw(draw.Crop(c, LegendRow, 0, 0, 0))
}

// The sizes of a legend's entries.
const (
	keyThumb = 20
	keyGap   = 5
	keySpace = 16
	// legendWidth is how much of a picture a phone of 400 px shows, on which pictures are 640 px wide and scroll.
	legendWidth = 390
)

// short is the key's text as far as it fits a row.
func (k Key) short() string {
	return Shorten(k.Text, TextStyle(TextSize, Black), PictureWidth-3*Margin-keyThumb-keyGap)
}

// keyPlaces returns where each entry of a legend goes: its x, and its row.
func keyPlaces(keys []Key, width vg.Length) (x []vg.Length, row []int) {
	style := TextStyle(TextSize, Black)
	at, r := vg.Length(0), 0
	for _, k := range keys {
		w := keyThumb + keyGap + style.Width(k.short())
		if at > 0 && at+w > width {
			at, r = 0, r+1
		}
		x, row = append(x, at), append(row, r)
		at += w + keySpace
	}
	return x, row
}

// CountRows returns how many rows a legend of a whole picture takes.
func CountRows(keys []Key) int {
	if len(keys) == 0 {
		return 0
	}
	_, row := keyPlaces(keys, legendWidth)
	return row[len(row)-1] + 1
}

// DrawKeys draws a legend in rows at the top of c.
func DrawKeys(c draw.Canvas, keys []Key) {
	style := TextStyle(TextSize, Black)
	places, rows := keyPlaces(keys, legendWidth)
	for i, k := range keys {
		x, y := c.Min.X+places[i], c.Max.Y-LegendRow*(vg.Length(rows[i])+0.5)
		box := draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{Min: vg.Point{X: x, Y: y - 4},
			Max: vg.Point{X: x + keyThumb, Y: y + 4}}}
		k.Thumb.Thumbnail(&box)
		c.FillText(style, vg.Point{X: x + keyThumb + keyGap, Y: y}, k.short())
	}
}

// A Swatch is a legend's filled rectangle.
type Swatch struct{ color.Color }

// Thumbnail implements plot.Thumbnailer.
func (s Swatch) Thumbnail(c *draw.Canvas) { FillRect(c, c.Min.X, c.Max.X, c.Min.Y, c.Max.Y, s.Color) }
