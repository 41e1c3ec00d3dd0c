package sweep

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
	all := sweeps()
	named := sweepInput(1, kinds, nil)
	named.Scenario, named.About, named.Params[1].Key = evil, evil, evil
	named.Points[3].Runs[0].Result = nil
	for i := range named.Points {
		v := named.Points[i].Values
		v[evil] = evil + v["workload"]
		delete(v, "workload")
	}
	for i, v := range named.Params[1].Values {
		named.Params[1].Values[i] = evil + v
	}
	all["evil"], all["empty"] = named, Input{Header: Header{Scenario: "empty"}}
	addresses := map[string]bool{}
	for name, in := range all {
		t.Run(name, func(t *testing.T) {
			s := Summarize(in)
			var pictures []chart.Picture
			for _, f := range s.figures() {
				pictures = append(pictures, f.Inline())
			}
			address := browser.Written(t, page, s.view(pictures))
			addresses[address] = true
			browser.Sound(t, b, address)
		})
	}
	b.Inert(t, func(url string) bool { return addresses[url] })
}
