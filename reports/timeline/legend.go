package timeline

import (
	"image/color"
	"maps"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"locklab/harness/history"
	"locklab/reports/chart"
	"locklab/reports/measure"
	"locklab/reports/result"
)

// legend explains the marks of this timeline.
func (d *timelineDrawing) legend() []chart.Key {
	own := chart.Owners[0]
	if d.Overview != nil {
		keys := []chart.Key{}
		for i, text := range []string{"holds up to 5 % of the time", "up to 25 %", "more"} {
			keys = append(keys, chart.Key{Text: text,
				Thumb: thumbnailOf(chart.Swatch{Color: chart.Tint(own, shareLevels[i].strength)})})
		}
		return append(keys, chart.Key{Text: "fault active", Thumb: thumbnailOf(chart.Swatch{Color: chart.Shade})})
	}
	keys := []chart.Key{{Text: "waits", Thumb: paleSwatch{chart.Tint(own, 0.3)}}}
	holds, both := "believes it holds", "believes so while another does too"
	switch {
	case d.Modes[history.ModeRead]:
		holds, both = "believes it holds it to write", "believes so while a client that it excludes does too"
	case d.Modes[history.ModePermit]:
		holds, both = "believes it has a permit", "one of too many: the newest, or one that should have ended"
	}
	var double, stopped, unsure, after, refused, stale, read, write bool
	for i := range d.Lanes {
		double = double || slices.ContainsFunc(d.Lanes[i].Double, d.Overlaps)
		after = after || len(d.Lanes[i].After) > 0
		unsure = unsure || len(d.Lanes[i].Unsure) > 0
		stopped = stopped || len(d.Lanes[i].Stopped) > 0
	}
	writes := d.Modes[history.ModeExclusive] || d.Modes[history.ModeWrite]
	for _, a := range d.Accesses {
		refused, stale = refused || a.Refused, stale || a.Stale
		read, write = read || a.Op == history.OpRead, write || a.Op == history.OpWrite
	}
	add := func(occurs bool, text string, thumb thumbnail) {
		if occurs {
			keys = append(keys, chart.Key{Text: text, Thumb: thumb})
		}
	}
	add(!d.Modes[history.ModeRead] || writes, holds, thumbnailOf(chart.Swatch{Color: own}))
	add(d.Modes[history.ModeRead], "believes it holds it to read", func(c *draw.Canvas) {
		h := (c.Max.Y - c.Min.Y) * readHeight / barHeight
		chart.FillRect(c, c.Min.X, c.Max.X, c.Center().Y-h/2, c.Center().Y+h/2, own)
	})
	add(double, both, thumbnailOf(chart.Swatch{Color: chart.Vermillion}))
	add(unsure, "may believe it still; its record ends",
		func(c *draw.Canvas) { chart.OutlineRect(c, c.Min.X, c.Max.X, c.Min.Y, c.Max.Y, own) })
	add(after, "goes on, though it knows of the loss",
		func(c *draw.Canvas) { chart.OutlineRect(c, c.Min.X, c.Max.X, c.Min.Y, c.Max.Y, own) })
	add(stopped, "process stopped", func(c *draw.Canvas) { chart.HatchRect(c, c.Min.X, c.Max.X, c.Min.Y, c.Max.Y) })
	add(len(d.Faults) > 0, "fault active", thumbnailOf(chart.Swatch{Color: chart.Shade}))
	add(d.Hidden > 0, "of a client without a row", thumbnailOf(chart.Swatch{Color: chart.LightGrey}))
	add(read, "read", func(c *draw.Canvas) { tick(c, c.Center(), false, own) })
	add(write, "write", func(c *draw.Canvas) { tick(c, c.Center(), true, own) })
	add(refused, "refused as outdated", func(c *draw.Canvas) { chart.Cross(c, c.Center(), 4, 1.8, chart.Black) })
	add(stale, "accepted though outdated", func(c *draw.Canvas) {
		chart.FillRect(c, c.Center().X-1.5, c.Center().X+1.5, c.Min.Y-3, c.Max.Y+3, chart.Vermillion)
	})
	return keys
}

// A thumbnail draws a legend's sample.
type thumbnail func(*draw.Canvas)

// Thumbnail implements plot.Thumbnailer.
func (t thumbnail) Thumbnail(c *draw.Canvas) { t(c) }

func thumbnailOf(s chart.Swatch) thumbnail { return s.Thumbnail }

// A paleSwatch is a swatch as thin as the bar of a wait.
type paleSwatch struct{ color.Color }

// Thumbnail implements plot.Thumbnailer.
func (s paleSwatch) Thumbnail(c *draw.Canvas) {
	chart.FillRect(c, c.Min.X, c.Max.X, c.Center().Y-vg.Length(barHeight)/4, c.Center().Y+vg.Length(barHeight)/4, s.Color)
}

// A palette has the place and the colour of each client, which are the same in every picture of a run, and of every run
// of a lab whose scenarios have the same clients: they follow from the names alone.
type palette map[string]int

// NewPalette returns the palette of the clients that the scenario has, whether or not each did anything, or of those in
// the history if they are others.
func NewPalette(in result.Input) palette {
	planned, known := in.Scenario.ClientNames(), map[string]bool{}
	for _, c := range planned {
		known[c] = true
	}
	p := palette{}
	others := false
	for i := range in.Acquisitions {
		c := in.Acquisitions[i].Client
		p[c] = 0
		others = others || !known[c]
	}
	if !others {
		for _, c := range planned {
			p[c] = 0
		}
	}
	names := slices.Collect(maps.Keys(p))
	slices.SortFunc(names, measure.CompareNatural)
	for i, c := range names {
		p[c] = i
	}
	return p
}

func (p palette) Color(client string) color.NRGBA {
	if i, known := p[client]; known {
		return chart.Owners[i%len(chart.Owners)]
	}
	return chart.LightGrey
}

// Order sorts clients by their places.
func (p palette) Order(clients []string) {
	slices.SortFunc(clients, func(a, b string) int { return p[a] - p[b] })
}
