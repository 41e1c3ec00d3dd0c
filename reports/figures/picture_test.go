package figures

import (
	"slices"
	"strings"
	"testing"
)

// The picture has a line for each peer, whatever the order of the records, and leaves out what the table leaves out.
func TestPicture(t *testing.T) {
	f := example
	f.Across, f.Drawn = KeyClients, []string{"acquired_per_s", "acquire.p99"}
	var all []Record
	for _, clients := range []string{"1000", "1", "64"} {
		for i := 1; i <= 5; i++ {
			for _, peer := range []string{"mutex", "curator-mutex@5.7.1"} {
				r := record(i, peer, 100*float64(i), 5e6)
				r.Cell[KeyClients] = clients
				all = append(all, r)
			}
		}
	}
	draw := func(f *Figure, all []Record) string {
		p, err := f.Picture(all)
		if err != nil {
			t.Fatal(err)
		}
		drawn, err := p.Render()
		if err != nil {
			t.Fatal(err)
		}
		return string(drawn.SVG)
	}
	want := draw(&f, all)
	for _, text := range []string{"Example against clients", ">mutex<", ">curator-mutex@5.7.1<", ">1000<", "acquire p99",
		"5 ms"} {
		if !strings.Contains(want, text) {
			t.Errorf("the picture lacks %q", text)
		}
	}
	failed := record(6, "kazoo-lock", 7777, 1)
	failed.Failed = "fail: two holders"
	if got := draw(&f, append(slices.Clone(all), failed)); got != want {
		t.Error("a round that failed is in the picture")
	}
	if got := draw(&f, append(slices.Clone(all), record(6, "mutex", 700, 5e6))); got == want {
		t.Error("another round changes nothing")
	}
	if got := f.positions(f.rows(all)); !slices.Equal(got, []string{"1", "64", "1000"}) {
		t.Errorf("along the axis: %q", got)
	}
	if draw(&f, nil) != "" || draw(&example, all) != "" {
		t.Error("a picture of nothing, or of a figure without one")
	}
	f.Drawn = []string{"acquired_per_s", "handoff.p99"}
	if got := draw(&f, all); !strings.Contains(got, "acquired/s") || strings.Contains(got, "hand-off") {
		t.Error("a panel of a number that no round has")
	}
	f.Drawn = []string{"no.number"}
	if _, err := f.Picture(all); err == nil {
		t.Error("a number that does not exist was drawn")
	}
}
