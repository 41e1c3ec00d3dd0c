package chart

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"html"
	"html/template"
	"regexp"
	"runtime"
	"strconv"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"locklab/harness/rundir"
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

//go:embed page.css
var pageStyle string

// PageStyle is the style sheet of every page.
var PageStyle = template.CSS(pageStyle)

// flagWord matches a flag of the command line in a text.
var flagWord = regexp.MustCompile(`--[a-z][a-z0-9-]*`)

// Flags returns a text for a page on which no line breaks within a flag, at whose hyphens browsers would break it.
func Flags(text string) template.HTML {
	return template.HTML(flagWord.ReplaceAllString(html.EscapeString(text), `<span class="flag">$0</span>`))
}

// PagePatterns has the patterns that pictures of a page refer to; each page has it once.
const PagePatterns = template.HTML(`<svg class="defs" aria-hidden="true" width="0" height="0"><defs>` +
	`<pattern id="hatch" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">` +
	`<path class="s ink" d="M0 0V5" stroke-width="1"/></pattern></defs></svg>`)

// Render draws figures, several at a time.
func Render(figures []Figure) ([]Picture, error) {
	all := make([]Picture, len(figures))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, f := range figures {
		g.Go(func() (err error) {
			all[i], err = f.Render()
			return err
		})
	}
	return all, g.Wait()
}

// WriteReport writes a report into a run directory or a sweep's: its pictures, and then report.html, which is page with
// view. Each file is replaced completely or not at all.
func WriteReport(dir string, pictures []Picture, page *template.Template, view any) error {
	var html bytes.Buffer
	if err := page.Execute(&html, view); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	if err := Save(dir, pictures); err != nil {
		return err
	}
	return rundir.WriteReport(dir, html.Bytes())
}

// Save writes the pictures of a report into a run directory or a sweep's, as PNG and SVG. Each file is replaced
// completely or not at all. A picture that was not drawn is left out, and an older file of its name is removed.
func Save(dir string, pictures []Picture) error {
	for _, p := range pictures {
		for ext, b := range map[string][]byte{".png": p.PNG, ".svg": p.SVG} {
			if p.PNG == nil {
				b = nil
			}
			if err := rundir.WritePicture(dir, p.Name+ext, b); err != nil {
				return fmt.Errorf("save pictures: %w", err)
			}
		}
	}
	return nil
}
