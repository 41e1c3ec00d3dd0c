package advice

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/plot/vg"

	"locklab/reports/chart"
	"locklab/workloads/guard"
)

// The picture alone says which timeout to choose and why, whatever the pauses and the guard are.
func TestFigure(t *testing.T) {
	for name, c := range map[string]struct {
		guard string
		long  time.Duration // of ten pauses
		cost  time.Duration
		why   string
	}{
		"in the middle":   {guard.LostContext, 6 * time.Second, time.Minute, "shorter ones lose sessions, longer ones wait"},
		"nothing seen":    {guard.None, time.Millisecond, time.Hour, "it outlasts all pauses seen"},
		"just outlasted":  {guard.LeaseClock, 6 * time.Second, time.Hour, "it outlasts all pauses seen"},
		"all too short":   {guard.None, time.Minute, time.Hour, "(guard none): longer ones wait"},
		"none is harmful": {guard.Fencing, time.Minute, time.Hour, "(guard fencing): longer ones wait"},
	} {
		cfg := usual
		cfg.Guard, cfg.DoubleHoldCost, cfg.ExpiryCost = c.guard, c.cost, c.cost/60
		a, err := Advise(pauses(c.long, 10), cfg)
		if err != nil {
			t.Fatal(err)
		}
		width := chart.Bold(chart.TextStyle(chart.TitleSize, chart.Black)).Width(a.title())
		if room := chart.PictureWidth - vg.Length(3*chart.Margin); width > room {
			t.Errorf("%s: the title is %.0f wide, and there is room for %.0f: %s", name, width, room, a.title())
		}
		one, err := a.Figure().Render()
		if err != nil {
			t.Fatal(err)
		}
		two, err := a.Figure().Render()
		if err != nil {
			t.Fatal(err)
		}
		if len(one.PNG) == 0 || !bytes.Equal(one.SVG, two.SVG) {
			t.Errorf("%s: PNG of %d bytes; the SVG is the same again: %v", name, len(one.PNG), bytes.Equal(one.SVG, two.SVG))
		}
		for _, text := range []string{c.why, "costs least", "session timeout", "how often a year", "cost in hours a year"} {
			if !strings.Contains(string(one.SVG), text) {
				t.Errorf("%s: the picture lacks %q", name, text)
			}
		}
	}
}

// The text has every option, and marks the recommended one.
func TestPrint(t *testing.T) {
	a, err := Advise(pauses(6*time.Second, 10), usual)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := Print(&b, a); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	if marked := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, "→ 10 s") }); marked < 0 {
		t.Errorf("10 s is not marked:\n%s", b.String())
	}
	for _, text := range []string{"Choose a session timeout of 10 s with guard none", "≤ ", "rule of three",
		"nothing was extrapolated", "with lease-clock   choose 10 s"} {
		if !strings.Contains(b.String(), text) {
			t.Errorf("%q is missing:\n%s", text, b.String())
		}
	}
}
