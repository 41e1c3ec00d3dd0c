package chart

import (
	"bytes"
	"cmp"
	"fmt"
	"html"
	"html/template"
	"regexp"
	"strconv"
	"unicode/utf8"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// A Picture is a drawn figure. PNG and SVG are nil if there was nothing to draw.
type Picture struct {
	Name    string // of its files, and its id on a page
	Title   string
	Caption string // how to read it
	Absent  string // why it is missing
	PNG     []byte
	SVG     []byte
	Element template.HTML // for a page
}

// A Figure is a picture before it is drawn.
type Figure struct {
	Name, Title, Caption, Absent string
	Height                       vg.Length
	Draw                         func(draw.Canvas) // nil = nothing to draw
	Attributes                   []Attribute       // of the element on a page
}

// Render draws the figure.
func (f Figure) Render() (Picture, error) {
	p := f.Inline()
	if f.Draw == nil {
		return p, nil
	}
	img := vgimg.NewWith(vgimg.UseWH(PictureWidth, f.Height), vgimg.UseDPI(pictureDPI))
	f.Draw(draw.New(img))
	var png bytes.Buffer
	if _, err := (vgimg.PngCanvas{Canvas: img}).WriteTo(&png); err != nil {
		return p, fmt.Errorf("draw %s: %w", f.Name, err)
	}
	vector := vgsvg.NewWith(vgsvg.UseWH(PictureWidth, f.Height))
	f.Draw(draw.New(vector))
	var svg bytes.Buffer
	if _, err := vector.WriteTo(&svg); err != nil {
		return p, fmt.Errorf("draw %s: %w", f.Name, err)
	}
	p.PNG, p.SVG = png.Bytes(), portable(svg.Bytes())
	return p, nil
}

// Inline draws the figure for a page only.
func (f Figure) Inline() Picture {
	p := Picture{Name: f.Name, Title: f.Title, Caption: f.Caption, Absent: f.Absent}
	if f.Draw != nil {
		inline := NewInline(PictureWidth, f.Height)
		f.Draw(draw.New(inline))
		p.Element = inline.Element(f.Name, cmp.Or(f.Title, f.Caption), f.Attributes...)
	}
	return p
}

// svgFonts gives an SVG a font that looks the same where Liberation Sans is not installed: Arial and Helvetica have
// the same widths.
const svgFonts = `<style>text{font-family:"Liberation Sans",Arial,Helvetica,sans-serif!important}</style>`

// svgText is a text of an SVG, as vgsvg writes it.
var svgText = regexp.MustCompile(`<text ([^>]*font-weight:(\w+);[^>]*font-size:([\d.]+)px[^>]*)>([^<]*)</text>`)

// portable adds the fonts to an SVG, and to each text its width, so that texts do not run together where none of these
// fonts is installed.
func portable(svg []byte) []byte {
	head, rest, ok := bytes.Cut(svg, []byte(">\n<g "))
	if !ok {
		return svg
	}
	rest = svgText.ReplaceAllFunc(rest, func(b []byte) []byte {
		m := svgText.FindSubmatch(b)
		size, err := strconv.ParseFloat(string(m[3]), 64)
		text := html.UnescapeString(string(m[4]))
		if err != nil || utf8.RuneCountInString(text) <= mostUnsized {
			return b
		}
		style := TextStyle(vg.Length(size), Black)
		if string(m[2]) == "bold" {
			style = Bold(style)
		}
		return fmt.Appendf(nil, `<text %s %s>%s</text>`, m[1], sized(style.Width(text)), m[4])
	})
	return bytes.Join([][]byte{head, []byte(">\n" + svgFonts + "\n<g "), rest}, nil)
}

// mostUnsized is the most characters of a text whose width is left to the font.
const mostUnsized = 2

// sized are the attributes of a text that give it a width.
func sized(width vg.Length) string {
	return `lengthAdjust="spacingAndGlyphs" textLength="` + places(float64(width)) + `"`
}
