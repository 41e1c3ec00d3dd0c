package reports

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// The colours of Okabe and Ito, which readers with any common colour vision
// tell apart. Vermillion is kept for what went wrong.
var (
	black      = color.NRGBA{0x1a, 0x1a, 0x1a, 0xff}
	blue       = color.NRGBA{0x00, 0x72, 0xb2, 0xff}
	green      = color.NRGBA{0x00, 0x9e, 0x73, 0xff}
	orange     = color.NRGBA{0xe6, 0x9f, 0x00, 0xff}
	purple     = color.NRGBA{0xcc, 0x79, 0xa7, 0xff}
	sky        = color.NRGBA{0x56, 0xb4, 0xe9, 0xff}
	vermillion = color.NRGBA{0xd5, 0x5e, 0x00, 0xff}

	darkOrange = color.NRGBA{0x8a, 0x5a, 0x00, 0xff} // text on a fault's time
	grey       = color.NRGBA{0x6b, 0x6b, 0x6b, 0xff}
	lightGrey  = color.NRGBA{0xdd, 0xdd, 0xdd, 0xff}
	shade      = color.NRGBA{0xe6, 0x9f, 0x00, 0x30} // a fault's time
)

// owners are the colours of clients, in the order of their rows. Grey is nobody's.
var owners = [...]color.NRGBA{blue, green, purple, sky, orange}

// tint mixes c with white; share is how much of c is left.
func tint(c color.NRGBA, share float64) color.NRGBA {
	mix := func(v uint8) uint8 { return uint8(255 - share*(255-float64(v))) }
	return color.NRGBA{mix(c.R), mix(c.G), mix(c.B), 0xff}
}

// Sizes of every picture. At 144 dpi the PNG is 1440 pixels wide, and shown at
// 1200 its text is still 16 pixels high.
const (
	pictureWidth = 720 * vg.Inch / 72
	pictureDPI   = 144
	textSize     = 10
	smallSize    = 9
	titleSize    = 12
)

func sans(size vg.Length) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
}

// textStyle is left-aligned on the text's vertical middle.
func textStyle(size vg.Length, c color.Color) text.Style {
	return text.Style{Color: c, Font: sans(size), XAlign: draw.XLeft, YAlign: draw.YCenter, Handler: plot.DefaultTextHandler}
}

func bold(s text.Style) text.Style {
	s.Font.Weight = 3 // golang.org/x/image/font.WeightBold
	return s
}
