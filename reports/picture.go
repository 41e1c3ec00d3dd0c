package reports

import (
	"bytes"
	"fmt"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// A picture is one drawn figure of the report. PNG and SVG are nil if there is
// nothing to draw.
type picture struct {
	Name    string // of its files
	Caption string // how to read it
	Absent  string // why it is missing
	PNG     []byte
	SVG     []byte
}

// A figure is a picture before it is drawn.
type figure struct {
	Name, Caption, Absent string
	Height                vg.Length
	Draw                  func(draw.Canvas) // nil = nothing to draw
}

// pictures draws all figures of a run, in the order of the report.
func pictures(in Input) ([]picture, error) {
	w := measuredWindow(in.Events)
	faults := faultSpans(in.Events)
	figures := []figure{
		timelineFigure(in, w, faults),
		percentilesFigure(in, w),
		overTimeFigure(in, w, faults),
		throughputFigure(in, w, faults),
		grantsFigure(in, w),
	}
	var all []picture
	for _, f := range figures {
		p, err := f.render()
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

func (f figure) render() (picture, error) {
	p := picture{Name: f.Name, Caption: f.Caption, Absent: f.Absent}
	if f.Draw == nil {
		return p, nil
	}
	img := vgimg.NewWith(vgimg.UseWH(pictureWidth, f.Height), vgimg.UseDPI(pictureDPI))
	f.Draw(draw.New(img))
	var png bytes.Buffer
	if _, err := (vgimg.PngCanvas{Canvas: img}).WriteTo(&png); err != nil {
		return p, fmt.Errorf("draw %s: %w", f.Name, err)
	}
	vector := vgsvg.NewWith(vgsvg.UseWH(pictureWidth, f.Height))
	f.Draw(draw.New(vector))
	var svg bytes.Buffer
	if _, err := vector.WriteTo(&svg); err != nil {
		return p, fmt.Errorf("draw %s: %w", f.Name, err)
	}
	p.PNG, p.SVG = png.Bytes(), portable(svg.Bytes())
	return p, nil
}

// svgFonts gives an SVG a font that looks the same where Liberation Sans is not
// installed: Arial and Helvetica have the same widths.
const svgFonts = `<style>text{font-family:"Liberation Sans",Arial,Helvetica,sans-serif!important}</style>`

// portable adds the fonts to an SVG.
func portable(svg []byte) []byte {
	head, rest, ok := bytes.Cut(svg, []byte(">\n<g "))
	if !ok {
		return svg
	}
	return bytes.Join([][]byte{head, []byte(">\n" + svgFonts + "\n<g "), rest}, nil)
}
