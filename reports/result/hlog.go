package result

import (
	"fmt"
	"io"

	"github.com/HdrHistogram/hdrhistogram-go"

	"locklab/harness/history"
)

// WriteHlog writes the measured window's latencies in HdrHistogram's log format: one interval per phase, tagged with
// its name, in nanoseconds, its maximum in milliseconds. Times are in seconds since the run's base and not since the
// epoch, because a history has no others. A phase without samples has no line.
func WriteHlog(w io.Writer, events *history.Log, acq []history.Acquisition) error {
	win := MeasuredWindow(events)
	log := hdrhistogram.NewHistogramLogWriter(w)
	if err := log.OutputLogFormatVersion(); err != nil {
		return fmt.Errorf("write latencies: %w", err)
	}
	if err := log.OutputComment("Logged by locklab: ns, one interval per phase; times since the run's base"); err != nil {
		return fmt.Errorf("write latencies: %w", err)
	}
	if err := log.OutputLegend(); err != nil {
		return fmt.Errorf("write latencies: %w", err)
	}
	if !win.Measured {
		return nil
	}
	all := Samples(acq, win)
	for _, phase := range Phases {
		h := Record(all[phase]).Hist
		if h.TotalCount() == 0 {
			continue
		}
		h.SetTag(phase)
		h.SetStartTimeMs(win.From / 1e6)
		h.SetEndTimeMs(win.To / 1e6)
		if err := log.OutputIntervalHistogram(h); err != nil {
			return fmt.Errorf("write latencies of %s: %w", phase, err)
		}
	}
	return nil
}
