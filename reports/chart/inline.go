package chart

import (
	"bytes"
	"fmt"
	"html"
	"html/template"
	"image"
	"image/color"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// An Inline is a canvas that writes an SVG element for a page. Unlike the canvas for files, it names colours and sizes
// by classes of the page's style sheet, so that a picture follows the colour scheme of its reader, it says how wide
// each text was when the picture was laid out, so that labels stay apart in any font, and it lets a figure group and
// name its elements for the page's script.
type Inline struct {
	width, height vg.Length
	body          bytes.Buffer
	stack         []inlineState
	attributes    string // of the elements drawn from now on
}

// An inlineState is what Push saves. The matrix maps a point (x, y) to (a·x + c·y + e, b·x + d·y + f).
type inlineState struct {
	line             vg.Length
	dashes           []vg.Length
	color            color.NRGBA
	a, b, c, d, e, f float64
}

// NewInline returns an empty canvas.
func NewInline(width, height vg.Length) *Inline {
	return &Inline{width: width, height: height,
		stack: []inlineState{{line: 1, color: Black, a: 1, d: 1}}}
}

// Element returns the SVG element. Its id is plot- and the name, and with the title its accessible name; attributes are
// those of the element.
func (c *Inline) Element(name, title string, attributes ...Attribute) template.HTML {
	return template.HTML(fmt.Sprintf(`<svg id="plot-%s" class="plot" role="img" aria-label="%s" `+
		`viewBox="0 0 %s %s"%s>`+"\n",
		html.EscapeString(name), html.EscapeString(title), places(float64(c.width)), places(float64(c.height)),
		joined(attributes)) + c.body.String() + "</svg>")
}

// An Attribute is an attribute of an SVG element.
type Attribute struct{ Name, Value string }

func joined(all []Attribute) string {
	var s strings.Builder
	for _, a := range all {
		s.WriteString(` ` + a.Name + `="` + html.EscapeString(a.Value) + `"`)
	}
	return s.String()
}

// Describe gives the elements that draw draws these attributes, on a page. On other canvases it only draws.
func Describe(c *draw.Canvas, draw func(), attributes ...Attribute) {
	in, ok := c.Canvas.(*Inline)
	if !ok {
		draw()
		return
	}
	before := in.attributes
	in.attributes += joined(attributes)
	draw()
	in.attributes = before
}

// Group puts what draw draws into a group with these attributes, on a page. On other canvases it only draws.
func Group(c *draw.Canvas, draw func(), attributes ...Attribute) {
	in, ok := c.Canvas.(*Inline)
	if !ok {
		draw()
		return
	}
	in.body.WriteString("<g" + joined(attributes) + ">\n")
	draw()
	in.body.WriteString("</g>\n")
}

func (c *Inline) now() *inlineState { return &c.stack[len(c.stack)-1] }

// Size implements vg.CanvasSizer.
func (c *Inline) Size() (x, y vg.Length) { return c.width, c.height }

// SetLineWidth and the methods below implement vg.Canvas.
func (c *Inline) SetLineWidth(w vg.Length) { c.now().line = w }

// SetLineDash implements vg.Canvas. The offset is always 0 in our pictures.
func (c *Inline) SetLineDash(dashes []vg.Length, _ vg.Length) { c.now().dashes = dashes }

func (c *Inline) SetColor(clr color.Color) {
	if clr == nil {
		clr = Black
	}
	c.now().color = color.NRGBAModel.Convert(clr).(color.NRGBA)
}

func (c *Inline) Rotate(rad float64) {
	s := c.now()
	sin, cos := math.Sincos(rad)
	s.a, s.b, s.c, s.d = s.a*cos+s.c*sin, s.b*cos+s.d*sin, s.c*cos-s.a*sin, s.d*cos-s.b*sin
}

func (c *Inline) Translate(pt vg.Point) {
	s := c.now()
	x, y := float64(pt.X), float64(pt.Y)
	s.e, s.f = s.e+s.a*x+s.c*y, s.f+s.b*x+s.d*y
}

func (c *Inline) Scale(x, y float64) {
	s := c.now()
	s.a, s.b, s.c, s.d = s.a*x, s.b*x, s.c*y, s.d*y
}

func (c *Inline) Push() { c.stack = append(c.stack, *c.now()) }

func (c *Inline) Pop() { c.stack = c.stack[:len(c.stack)-1] }

// place returns where a point is in the SVG, whose y axis points down.
func (c *Inline) place(pt vg.Point) (x, y float64) {
	s := c.now()
	px, py := float64(pt.X), float64(pt.Y)
	return s.a*px + s.c*py + s.e, float64(c.height) - (s.b*px + s.d*py + s.f)
}

// places writes a coordinate to a tenth of a point.
func places(v float64) string {
	return strconv.FormatFloat(math.Round(v*10)/10+0, 'f', -1, 64)
}

func (c *Inline) Stroke(path vg.Path) {
	s := c.now()
	if s.line <= 0 {
		return
	}
	extra := ` stroke-width="` + places(float64(s.line)) + `"`
	if len(s.dashes) > 0 {
		var all []string
		for _, d := range s.dashes {
			all = append(all, places(float64(d)))
		}
		extra += ` stroke-dasharray="` + strings.Join(all, " ") + `"`
	}
	c.element("path", "s", `d="`+c.data(path)+`"`+extra, "stroke-opacity")
}

func (c *Inline) Fill(path vg.Path) { c.element("path", "", `d="`+c.data(path)+`"`, "fill-opacity") }

// element writes an element in the current colour.
func (c *Inline) element(name, class, attributes, opacity string) {
	clr := c.now().color
	class = strings.TrimSpace(class + " " + ink(clr))
	if clr.A != 0xff {
		attributes += fmt.Sprintf(` %s="%.2g"`, opacity, float64(clr.A)/0xff)
	}
	fmt.Fprintf(&c.body, "<%s class=\"%s\" %s%s/>\n", name, class, attributes, c.attributes)
}

// data is a path. An arc is drawn as a polygon, which nobody can tell from it at the size of our marks.
func (c *Inline) data(path vg.Path) string {
	var b strings.Builder
	to := func(command string, pt vg.Point) {
		x, y := c.place(pt)
		b.WriteString(command + places(x) + " " + places(y))
	}
	for _, p := range path {
		switch p.Type {
		case vg.MoveComp:
			to("M", p.Pos)
		case vg.LineComp:
			to("L", p.Pos)
		case vg.ArcComp:
			const steps = 16
			for i := range steps + 1 {
				sin, cos := math.Sincos(p.Start + p.Angle*float64(i)/steps)
				command := "L"
				if b.Len() == 0 {
					command = "M"
				}
				to(command, vg.Point{X: p.Pos.X + p.Radius*vg.Length(cos), Y: p.Pos.Y + p.Radius*vg.Length(sin)})
			}
		case vg.CurveComp:
			command := map[int]string{1: "Q", 2: "C"}[len(p.Control)]
			for _, pt := range p.Control {
				to(command, pt)
				command = " "
			}
			to(" ", p.Pos)
		case vg.CloseComp:
			b.WriteString("Z")
		}
	}
	return b.String()
}

func (c *Inline) FillString(f font.Face, pt vg.Point, text string) {
	if f.Font.Size == 0 || strings.TrimSpace(text) == "" {
		return
	}
	x, y := c.place(pt)
	class := fmt.Sprintf("t%s %s", places(float64(f.Font.Size)), ink(c.now().color))
	if f.Font.Weight > 0 {
		class += " b"
	}
	extra := ""
	if utf8.RuneCountInString(text) > mostUnsized {
		extra = " " + sized(f.Width(text))
	}
	if s := c.now(); s.b != 0 {
		extra += fmt.Sprintf(` transform="rotate(%s %s %s)"`, places(-math.Atan2(s.b, s.a)*180/math.Pi), places(x),
			places(y))
	}
	fmt.Fprintf(&c.body, "<text class=\"%s\" x=\"%s\" y=\"%s\"%s%s>%s</text>\n", class, places(x), places(y), extra,
		c.attributes, html.EscapeString(text))
}

// DrawImage implements vg.Canvas. Our pictures are drawn without images.
func (c *Inline) DrawImage(vg.Rectangle, image.Image) {
	panic("chart: a picture of a page has no images")
}

// rect writes a rectangle, with a class of its own if its looks depend on more than its colour.
func (c *Inline) rect(x0, x1, y0, y1 vg.Length, class, opacity string) {
	left, top := c.place(vg.Point{X: x0, Y: y1})
	right, bottom := c.place(vg.Point{X: x1, Y: y0})
	c.element("rect", class, fmt.Sprintf(`x="%s" y="%s" width="%s" height="%s"`, places(left), places(top),
		places(max(right-left, 0.1)), places(max(bottom-top, 0.1))), opacity)
}

// inks are the classes of the colours in the page's style sheet.
var inks = map[color.NRGBA]string{Black: "ink", white: "paper", Blue: "blue", Green: "green", orange: "orange",
	Purple: "purple", sky: "sky", Vermillion: "red", DarkOrange: "amber", Grey: "grey", LightGrey: "light"}

// ink is the class of a colour. A colour that our palette does not have, such as the black of gonum's axes, is that of
// text.
func ink(c color.NRGBA) string {
	c.A = 0xff
	if class, known := inks[c]; known {
		return class
	}
	return "ink"
}
