package runpage

import (
	"fmt"

	"locklab/reports/chart"
	"locklab/reports/measure"
	"locklab/reports/result"
	"locklab/reports/timeline"
)

// Render draws the run's pictures into dir/plots and writes dir/report.html, one file that needs nothing but itself.
// Each file is replaced completely or not at all. A picture that has nothing to show is left out, and its older file
// is removed.
func Render(dir string, in result.Input) error {
	figures, d := figuresOf(in)
	var err error
	if d.all, err = chart.Render(figures); err == nil {
		err = chart.WriteReport(dir, d.all, page, newPageView(in, d))
	}
	if err != nil {
		return fmt.Errorf("render report: %w", err)
	}
	return nil
}

// figuresOf returns all figures of a run, and a drawing that has what they show but no pictures yet.
func figuresOf(in result.Input) ([]chart.Figure, drawing) {
	w := measure.MeasuredWindow(in.Events)
	faults := measure.FaultSpans(in.Events)
	d := drawing{timelines: timeline.New(in, w, faults), shares: clientShares(in, w)}
	figures := append(d.timelines.Figures(), percentilesFigure(in, w), overTimeFigure(in, w, faults),
		throughputFigure(in, w, faults))
	return append(figures, clientFigures(d.shares)...), d
}
