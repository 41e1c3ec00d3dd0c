package chart

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// NewPanel returns one plot of several in a picture, with its title above it.
func NewPanel(title string) *plot.Plot {
	p := New("", "", "").Plot
	p.Title.Text = title
	p.Title.TextStyle.Font = Sans(TextSize)
	p.Title.Padding = 3
	return p
}

// Panels is a picture of several plots whose axes are aligned, below one title and one legend.
type Panels struct {
	Title string
	Keys  []Key
	Rows  [][]*plot.Plot // of equal length; nil = no panel
}

// Draw draws all of it.
func (ps Panels) Draw(c draw.Canvas) {
	c = drawHeader(c, ps.Title, ps.Keys)
	tiles := draw.Tiles{Rows: len(ps.Rows), Cols: len(ps.Rows[0]), PadX: 10, PadY: 8}
	for i, row := range plot.Align(ps.Rows, tiles, c) {
		for k, at := range row {
			if p := ps.Rows[i][k]; p != nil {
				p.Title.Text = Shorten(p.Title.Text, p.Title.TextStyle, at.Max.X-at.Min.X)
				p.Draw(at)
			}
		}
	}
}

// Height is the height of the picture if each row has the given height.
func (ps Panels) Height(row vg.Length) vg.Length {
	return TitleRow + LegendRow*vg.Length(CountRows(ps.Keys)) + row*vg.Length(len(ps.Rows)) + 3*Margin
}

// drawHeader draws a picture's title and legend, and returns the space below.
func drawHeader(c draw.Canvas, title string, keys []Key) draw.Canvas {
	FillRect(&c, c.Min.X, c.Max.X, c.Min.Y, c.Max.Y, color.White)
	c = draw.Crop(c, Margin, -2*Margin, Margin, -Margin)
	style := Bold(TextStyle(TitleSize, Black))
	c.FillText(style, vg.Point{X: c.Min.X, Y: c.Max.Y - TitleRow/2}, Shorten(title, style, c.Max.X-c.Min.X))
	DrawKeys(draw.Crop(c, 0, 0, 0, -TitleRow), keys)
	return draw.Crop(c, 0, 0, 0, -TitleRow-LegendRow*vg.Length(CountRows(keys))-Margin)
}

// Grid draws a line at each labelled tick. It is added first, so that it is below the data. The grid of gonum also
// has a line at every minor tick.
type Grid struct{ Horizontal, Vertical bool }

// Plot implements plot.Plotter.
func (g Grid) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	style := draw.LineStyle{Color: LightGrey, Width: vg.Points(0.5)}
	if g.Vertical {
		for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
			if at := x(t.Value); !t.IsMinor() && c.ContainsX(at) {
				c.StrokeLine2(style, at, c.Min.Y, at, c.Max.Y)
			}
		}
	}
	if g.Horizontal {
		for _, t := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
			if at := y(t.Value); !t.IsMinor() && c.ContainsY(at) {
				c.StrokeLine2(style, c.Min.X, at, c.Max.X, at)
			}
		}
	}
}
