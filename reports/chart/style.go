package chart

import (
	"image/color"
	"sort"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// The colours are those of Okabe and Ito, which readers with any common kind of colour vision can distinguish.
// Vermillion is only for what went wrong.
var (
	Black      = color.NRGBA{0x1a, 0x1a, 0x1a, 0xff}
	Blue       = color.NRGBA{0x00, 0x72, 0xb2, 0xff}
	Green      = color.NRGBA{0x00, 0x9e, 0x73, 0xff}
	orange     = color.NRGBA{0xe6, 0x9f, 0x00, 0xff}
	Purple     = color.NRGBA{0xcc, 0x79, 0xa7, 0xff}
	sky        = color.NRGBA{0x56, 0xb4, 0xe9, 0xff}
	Vermillion = color.NRGBA{0xd5, 0x5e, 0x00, 0xff}
	white      = color.NRGBA{0xff, 0xff, 0xff, 0xff}

	DarkOrange = color.NRGBA{0x8a, 0x5a, 0x00, 0xff} // text on the shade of a fault
	Grey       = color.NRGBA{0x6b, 0x6b, 0x6b, 0xff}
	LightGrey  = color.NRGBA{0xdd, 0xdd, 0xdd, 0xff}
	Shade      = color.NRGBA{0xe6, 0x9f, 0x00, 0x30} // while a fault is active
)

// Owners are the colours of clients, in the order of their rows. Grey means that the client is not known.
var Owners = [...]color.NRGBA{Blue, Green, Purple, sky, orange}

// Tint returns c as pale as if it were mixed with the paper; share is how much of c is left.
func Tint(c color.NRGBA, share float64) color.NRGBA {
	c.A = uint8(255 * share)
	return c
}

// The sizes of every picture. At 144 dpi the PNG is 1440 pixels wide. Shown at 1200 pixels, its text is 16 pixels
// high.
const (
	PictureWidth = 720 * vg.Inch / 72
	pictureDPI   = 144
	TextSize     = 10
	SmallSize    = 9
	TitleSize    = 12
)

// Sans is the font of all text.
func Sans(size vg.Length) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
}

// TextStyle is left-aligned, and vertically centred.
func TextStyle(size vg.Length, c color.Color) text.Style {
	return text.Style{Color: c, Font: Sans(size), XAlign: draw.XLeft, YAlign: draw.YCenter,
		Handler: plot.DefaultTextHandler}
}

// Shorten returns as much of a text as fits a width, and … for the rest.
func Shorten(text string, style text.Style, width vg.Length) string {
	if style.Width(text) <= width {
		return text
	}
	letters := []rune(text)
	fits := sort.Search(len(letters), func(n int) bool { return style.Width(string(letters[:n+1])+"…") > width })
	return string(letters[:fits]) + "…"
}

// Bold returns the style in bold.
func Bold(s text.Style) text.Style {
	s.Font.Weight = 3 // golang.org/x/image/font.WeightBold
	return s
}
