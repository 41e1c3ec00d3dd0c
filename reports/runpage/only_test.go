package runpage

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"locklab/reports/internal/synth"
)

// Any window of a run can be drawn by itself, and what is in it can be seen.
func TestDrawOne(t *testing.T) {
	in := Input(synth.Act2Run(false))
	span := func(d time.Duration) *time.Duration { return &d }
	for name, c := range map[string]struct {
		Choice
		shows, hides string
	}{
		"the overlap": {Choice{From: span(3250 * time.Millisecond), To: span(3450 * time.Millisecond)},
			"Two clients believed they held", ""},
		"before the overlap": {Choice{To: span(100 * time.Millisecond)}, "Who held", "believes so while another does too"},
		"until the end":      {Choice{From: span(3 * time.Second), To: span(time.Hour)}, "Two clients believed", ""},
		"the report's own":   {Choice{}, "Two clients believed", ""},
		"another":            {Choice{Name: "throughput"}, "second", "believes it holds"},
	} {
		if c.Name == "" {
			c.Name = "timeline"
		}
		p, err := DrawOne(in, c.Choice)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !strings.Contains(string(p.SVG), c.shows) || c.hides != "" && strings.Contains(string(p.SVG), c.hides) {
			t.Errorf("%s: want %q and not %q in\n%s", name, c.shows, c.hides, p.SVG)
		}
		if !bytes.HasPrefix(p.PNG, []byte("\x89PNG")) {
			t.Errorf("%s: no PNG", name)
		}
	}
}

// What cannot be drawn is refused with the reason.
func TestDrawOneRefuses(t *testing.T) {
	in := Input(synth.Act2Run(false))
	span := func(ms time.Duration) *time.Duration { ms *= time.Millisecond; return &ms }
	for want, c := range map[string]Choice{
		"the window from 4s to 3s is empty (the run lasted":         {From: span(4000), To: span(3000)},
		"the window from 3s to 3s is empty":                         {From: span(3000), To: span(3000)},
		"the window is outside the run (the run lasted from 0 s to": {From: span(1e7)},
		"the window is outside the run":                             {To: span(-1)},
		"asked for the lock \"/x\" in this run, which has ":         {Lock: "/x"},
		"only the picture timeline has a window":                    {Name: "throughput", From: span(0)},
		"no picture \"nope\", this run has timeline, ":              {Name: "nope"},
	} {
		if c.Name == "" {
			c.Name = "timeline"
		}
		if _, err := DrawOne(in, c); !errors.Is(err, ErrChoice) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	for _, c := range []Choice{{Name: "timeline"}, {Name: "timeline", From: span(0)}} {
		if _, err := DrawOne(emptyInput(), c); !errors.Is(err, ErrChoice) {
			t.Errorf("an empty run: %v", err)
		}
	}
}
