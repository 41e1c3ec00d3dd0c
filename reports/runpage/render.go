package runpage

import (
	"bytes"
	"fmt"
	"runtime"

	"golang.org/x/sync/errgroup"

	"locklab/harness/rundir"
	"locklab/reports/chart"
	"locklab/reports/result"
)

// Render draws the run's pictures into dir/plots and writes dir/report.html, one file that needs nothing but itself.
// Each file is replaced completely or not at all. A picture that has nothing to show is left out, and its older file
// is removed.
func Render(dir string, in result.Input) error {
	drawn, err := pictures(in)
	if err == nil {
		err = chart.Save(dir, drawn.all)
	}
	var page bytes.Buffer
	if err == nil {
		err = writePage(&page, in, drawn)
	}
	if err == nil {
		err = rundir.WriteReport(dir, page.Bytes())
	}
	if err != nil {
		return fmt.Errorf("render report: %w", err)
	}
	return nil
}

// pictures draws all figures of a run.
func pictures(in result.Input) (drawing, error) {
	figures, d := figuresOf(in)
	d.all = make([]chart.Picture, len(figures))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, f := range figures {
		g.Go(func() (err error) {
			d.all[i], err = f.Render()
			return err
		})
	}
	return d, g.Wait()
}

// figuresOf returns all figures of a run, and a drawing that has what they show but no pictures yet.
func figuresOf(in result.Input) ([]chart.Figure, drawing) {
	w := result.MeasuredWindow(in.Events)
	faults := result.FaultSpans(in.Events)
	d := drawing{timelines: newTimelines(in, w, faults), shares: clientShares(in, w)}
	figures := append(d.timelines.figures(), percentilesFigure(in, w), overTimeFigure(in, w, faults),
		throughputFigure(in, w, faults))
	return append(figures, clientFigures(d.shares)...), d
}
