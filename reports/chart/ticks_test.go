package chart

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"

	"locklab/reports/words"
)

func TestDuration(t *testing.T) {
	for _, c := range []struct {
		ns   int64
		want string
	}{
		{0, "0"}, {800, "800 ns"}, {1500, "1.5 µs"}, {999_600, "1 ms"}, {25_000_000, "25 ms"}, {1_234_567, "1.23 ms"},
		{3_100_000_000, "3.1 s"}, {90e9, "90 s"}, {180e9, "3 min"}, {7200e9, "2 h"}, {-5e6, "-5 ms"},
	} {
		if got := words.Duration(c.ns); got != c.want {
			t.Errorf("duration(%d) = %q, want %q", c.ns, got, c.want)
		}
	}
}

func labelsOf(ticks []plot.Tick) (all []string) {
	for _, t := range ticks {
		if t.Label != "" {
			all = append(all, t.Label)
		}
	}
	return all
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		name   string
		ticker plot.Ticker
		lo, hi float64
		want   []string
	}{
		{"no needless zeros", Even{Want: 5}, 0, 100, []string{"0", "20", "40", "60", "80", "100"}},
		{"no minus zero", Even{Want: 4}, -1, 1, []string{"-1.0", "-0.5", "0.0", "0.5", "1.0"}},
		{"small steps", Even{Want: 4}, 4.1, 4.3, []string{"4.10", "4.15", "4.20", "4.25", "4.30"}},
		{"whole", Even{Want: 6, Whole: true}, 0, 3, []string{"0", "1", "2", "3"}},
		{"empty range", Even{}, 1, 1, nil},
		{"short log", LogTime{}, 1, 10, []string{"1 ms", "2 ms", "5 ms", "10 ms"}},
		{"long log", LogTime{}, 0.001, 1000, []string{"1 µs", "10 µs", "100 µs", "1 ms", "10 ms", "100 ms", "1 s"}},
		{"percentiles", Nines{}, 0, 3, []string{"0", "50", "90", "99", "99.9"}},
	} {
		if diff := cmp.Diff(c.want, labelsOf(c.ticker.Ticks(c.lo, c.hi))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestFitLog(t *testing.T) {
	for _, c := range []struct{ lo, hi, wantLo, wantHi float64 }{
		{1.2, 80, 1, 100}, {3, 3, 2, 5}, {5, 5, 5, 50}, {0, 0, Floor, Floor * 10}, {-4, 0.3, Floor, 0.5},
	} {
		lo, hi := FitLog(c.lo, c.hi)
		if d := lo/c.wantLo - 1; d > 1e-9 || d < -1e-9 {
			t.Errorf("fitLog(%v, %v): from %v, want %v", c.lo, c.hi, lo, c.wantLo)
		}
		if d := hi/c.wantHi - 1; d > 1e-9 || d < -1e-9 {
			t.Errorf("fitLog(%v, %v): to %v, want %v", c.lo, c.hi, hi, c.wantHi)
		}
	}
}

// Times of 0 are clamped, because a logarithmic axis of gonum panics at 0.
func TestLogAxisAcceptsZero(t *testing.T) {
	p := New("", "", "")
	p.X.Min, p.X.Max = 0, 1
	p.Y.Min, p.Y.Max = FitLog(Millis(0), Millis(-5))
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, LogTime{}
	p.Add(Dots{XYs: plotter.XYs{{X: 0.5, Y: Millis(0)}}, Color: Blue, Size: 2})
	var c recorder.Canvas
	p.Draw(draw.NewCanvas(&c, 200, 100))
}

func TestPlaceKeepsLabelsApart(t *testing.T) {
	style := TextStyle(SmallSize, Black)
	labels := []Label{{X: 10, Text: "first of them"}, {X: 30, Text: "second of them"},
		{X: 280, Text: "at the right edge"}, {X: 290, Text: "further right"}}
	placed, rows := Place(labels, style, 0, 300, 6)
	if len(placed) != 4 || rows != 2 {
		t.Fatalf("%d labels in %d rows, want 4 in 2", len(placed), rows)
	}
	for i, a := range placed {
		for _, b := range placed[i+1:] {
			x := func(l Label) (from, to vg.Length) {
				if w := style.Width(l.Text); l.Left {
					return l.X - w, l.X
				}
				return l.X, l.X + style.Width(l.Text)
			}
			af, at := x(a)
			bf, bt := x(b)
			if a.Row == b.Row && af < bt && bf < at {
				t.Errorf("%q and %q cover each other", a.Text, b.Text)
			}
		}
	}
}
