package runpage

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"locklab/harness/check/spans"
	"locklab/harness/fail"
	"locklab/reports/chart"
	"locklab/reports/measure"
	"locklab/reports/result"
	"locklab/reports/timeline"
	"locklab/reports/words"
)

// A Choice says which picture of a run to draw. The zero times and the empty lock leave the choice to the report.
type Choice struct {
	Name     string         // of the picture, as in plots/
	From, To *time.Duration // of a timeline: its window, since the start of the run
	Lock     string         // of a timeline with a window; "" = the one with the most holds in it
}

// Pictures are the names of pictures that every run with grants has.
var Pictures = []string{timeline.Name, "latency-percentiles", "latency-over-time", "throughput", "grants"}

// ErrChoice says that a run has no picture of that kind.
var ErrChoice = fail.Input.New("nothing to draw")

// DrawOne draws a single picture of a run and writes nothing. The error wraps [ErrChoice] if the run has no such
// picture or if its window is not a part of the run.
func DrawOne(in result.Input, c Choice) (chart.Picture, error) {
	if c.From != nil || c.To != nil || c.Lock != "" {
		f, err := windowFigure(in, c)
		if err != nil {
			return chart.Picture{}, err
		}
		return f.Render()
	}
	figures, _ := figuresOf(in)
	var names []string
	for _, f := range figures {
		switch {
		case f.Draw == nil && f.Name == c.Name:
			return chart.Picture{}, fmt.Errorf("%w: this run has no %s: %s", ErrChoice, c.Name,
				cmp.Or(f.Absent, "it has no further part to show"))
		case f.Name == c.Name:
			return f.Render()
		case f.Draw != nil:
			names = append(names, f.Name)
		}
	}
	return chart.Picture{}, fmt.Errorf("%w: there is no picture %q, this run has %s", ErrChoice, c.Name,
		strings.Join(names, ", "))
}

// windowFigure is the timeline of any part of a run.
func windowFigure(in result.Input, c Choice) (f chart.Figure, err error) {
	if c.Name != timeline.Name {
		return f, fmt.Errorf("%w: only the picture %s has a window or a lock", ErrChoice, timeline.Name)
	}
	end := in.Window.End
	s := timeline.Scene{Span: spans.Span{Until: end}}
	if c.From != nil {
		s.From = int64(*c.From)
	}
	if c.To != nil {
		s.Until = int64(*c.To)
	}
	run := fmt.Sprintf("the run lasted from 0 s to %s", words.Instant(end))
	switch {
	case end <= 0:
		return f, fmt.Errorf("%w: nothing was recorded", ErrChoice)
	case s.From >= s.Until && c.From != nil && c.To != nil:
		return f, fmt.Errorf("%w: the window from %s to %s is empty (%s)", ErrChoice, c.From, c.To, run)
	case s.From < 0 || s.From >= end || s.Until <= 0:
		return f, fmt.Errorf("%w: the window is outside the run (%s)", ErrChoice, run)
	}
	s.Until = min(s.Until, end)
	if s.Lock, err = lockIn(in, s.Span, c.Lock); err != nil {
		return f, err
	}
	s.Title = "Who held " + s.Lock
	for _, o := range result.OverlapFindings(in.Report) {
		if o.Lock == s.Lock && s.Overlaps(spans.Span{From: o.At, Until: o.Until}) {
			s.Overlap, s.Clients, s.Title = &o, o.Clients, timeline.OverlapTitle(in, o)
			break
		}
	}
	faults := measure.FaultSpans(in.Events)
	for i := range faults {
		if faults[i].Overlaps(s.Span) && s.Fault == nil {
			s.Fault = &faults[i]
		}
	}
	t := timeline.Of(in, faults, []timeline.Scene{s})[0]
	t.File = timeline.Name
	return t.Figure(), nil
}

// lockIn returns the lock of a window: the one that is asked for, or else the one with the most holds in it.
func lockIn(in result.Input, s spans.Span, wanted string) (string, error) {
	held, all := map[string]int{}, map[string]bool{}
	for i := range in.Acquisitions {
		a := &in.Acquisitions[i]
		all[a.Lock] = true
		if a.Granted() && s.Overlaps(spans.Span{From: a.Returned, Until: a.BelievedUntil(in.Events.End())}) {
			held[a.Lock]++
		}
	}
	names := slices.SortedFunc(maps.Keys(all), measure.CompareNatural)
	switch {
	case len(names) == 0:
		return "", fmt.Errorf("%w: no client asked for a lock in this run", ErrChoice)
	case wanted != "" && !all[wanted]:
		return "", fmt.Errorf("%w: no client asked for the lock %q in this run, which has %s", ErrChoice, wanted,
			enumerate(names, 6))
	case wanted != "":
		return wanted, nil
	}
	return slices.MaxFunc(names, func(a, b string) int { return cmp.Compare(held[a], held[b]) }), nil
}
