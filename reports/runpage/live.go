package runpage

import (
	"cmp"
	"slices"

	"locklab/harness/history"
	"locklab/reports/chart"
	"locklab/reports/measure"
	"locklab/reports/result"
	"locklab/reports/timeline"
)

// lastSeconds is how much of a run that lasts is drawn in detail, in ns.
const lastSeconds = 2e9

// Live draws a run that lasts, as far as it has been recorded: the whole of it, and its last two seconds on the lock
// that was asked for last. It returns nothing before a client has asked for a lock.
func Live(in result.Input) (all []chart.Picture) {
	if len(in.Acquisitions) == 0 {
		return nil
	}
	w, faults := measure.MeasuredWindow(in.Events), measure.FaultSpans(in.Events)
	whole := timeline.NewOverview(in, w, faults, nil)
	whole.File = timeline.OverviewName
	if _, ended := in.Events.First(history.OpEnd); !ended {
		whole.Title = "The run so far: who held, faults, and gaps without progress"
	}
	last := slices.MaxFunc(in.Acquisitions, func(a, b history.Acquisition) int {
		return cmp.Compare(a.Invoked, b.Invoked)
	})
	s := timeline.Scene{Span: measure.Span{From: max(0, w.End-lastSeconds), To: max(w.End, 1)}, Lock: last.Lock,
		Title: "The last two seconds of " + last.Lock}
	latest := timeline.Of(in, w, faults, []timeline.Scene{s})[0]
	latest.File = "latest"
	return []chart.Picture{whole.Figure().Inline(), latest.Figure().Inline()}
}
