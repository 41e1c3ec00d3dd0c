package runpage

import (
	"bytes"
	"fmt"

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
		err = chart.Save(dir, drawn)
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

// pictures draws all figures of a run, in the order of the report.
func pictures(in result.Input) ([]chart.Picture, error) {
	w := result.MeasuredWindow(in.Events)
	faults := faultSpans(in.Events)
	figures := []chart.Figure{
		timelineFigure(in, w, faults),
		percentilesFigure(in, w),
		overTimeFigure(in, w, faults),
		throughputFigure(in, w, faults),
		grantsFigure(in, w),
	}
	var all []chart.Picture
	for _, f := range figures {
		p, err := f.Render()
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}
