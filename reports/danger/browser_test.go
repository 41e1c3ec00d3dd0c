package danger

import (
	"testing"

	"locklab/reports/chart"
	"locklab/reports/internal/browser"
)

// The page is legible for everybody at each width, in each colour scheme and on paper, the keyboard reaches all of it,
// and it asks for nothing but itself. Names have no effect.
func TestBrowserPage(t *testing.T) {
	b := browser.Open(t)
	const evil = browser.Hostile
	named := example()
	named.Violation, named.Open, named.Warnings = evil, 3, []string{evil}
	named.Panels[0].Title, named.Panels[0].Curves[0].Recipe, named.Panels[0].Curves[0].Guard = evil, evil, evil
	named.Panels[0].Curves[1].Points[2].LeftOut = map[string]int{evil: 2}
	addresses := map[string]bool{}
	for name, d := range map[string]*Danger{"example": example(), "evil": named, "empty": {}} {
		t.Run(name, func(t *testing.T) {
			var pictures []chart.Picture
			for _, f := range d.figures() {
				pictures = append(pictures, f.Inline())
			}
			address := browser.Written(t, page, d.view(pictures))
			addresses[address] = true
			browser.Sound(t, b, address)
		})
	}
	b.Inert(t, func(url string) bool { return addresses[url] })
}
