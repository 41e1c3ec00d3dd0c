package rundir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"text/tabwriter"
	"time"

	"locklab/chaos"
	"locklab/harness/scenario"
	"locklab/harness/untrusted"
)

// A timeline is the resolved schedule of a run. It is kept because the faults that were drawn depend on what the
// machine could do, so another machine might draw others.
type timeline struct {
	Schedule   string               `json:"schedule"`
	Seed       uint64               `json:"seed"`
	IntervalNs time.Duration        `json:"interval_ns,omitempty"` // mean time from the start of a drawn fault to the next
	Kinds      []chaos.WeightedKind `json:"kinds,omitempty"`       // the kinds that faults were drawn from
	Faults     []timelineFault      `json:"faults"`
}

type timelineFault struct {
	ID    string            `json:"id"`
	Drawn bool              `json:"drawn"`
	After string            `json:"after,omitempty"` // the fault that had to be over first
	AtNs  time.Duration     `json:"at_ns"`           // after the start of the measured window
	ForNs time.Duration     `json:"for_ns,omitempty"`
	Says  string            `json:"says"`
	Keys  map[string]string `json:"keys"` // as in a scenario's file
}

// writeTimeline writes the resolved schedule into a run directory.
func writeTimeline(dir string, sc *scenario.Scenario, p chaos.Plan) error {
	return WriteJSON(filepath.Join(dir, timelineFile), Timeline(sc, p))
}

// Timeline returns the content of timeline.json for a plan.
func Timeline(sc *scenario.Scenario, p chaos.Plan) any {
	t := timeline{Schedule: sc.Schedule, Seed: sc.Seed, IntervalNs: p.Interval, Kinds: p.Kinds, Faults: []timelineFault{}}
	for _, s := range p.Steps {
		keys := map[string]string{}
		for _, k := range s.Fault.Keys() {
			keys[k.Key] = k.Text
		}
		t.Faults = append(t.Faults, timelineFault{ID: s.ID, Drawn: s.Drawn, After: s.After, AtNs: s.Fault.At,
			ForNs: sc.Resolve(s.Fault.For), Says: s.Fault.String(), Keys: keys})
	}
	return t
}

// ReadTimeline returns the planned faults of a run. An old run without the file had those that its scenario names.
func ReadTimeline(dir string, sc *scenario.Scenario) (chaos.Plan, error) {
	var t timeline
	err := ReadJSON(filepath.Join(dir, timelineFile), &t)
	if errors.Is(err, fs.ErrNotExist) {
		return sc.Plan(nil), nil
	}
	if err != nil {
		return chaos.Plan{}, err
	}
	untrusted.Lines(&t)
	p := chaos.Plan{Kinds: t.Kinds, Interval: t.IntervalNs}
	for _, f := range t.Faults {
		fault, err := chaos.ParseFault(f.Keys)
		if err != nil {
			return chaos.Plan{}, fmt.Errorf("read %s: %w: fault %s: %w", timelineFile, ErrBadFile, f.ID, err)
		}
		p.Steps = append(p.Steps, chaos.PlannedFault{ID: f.ID, Drawn: f.Drawn, After: f.After, Fault: fault})
	}
	return p, nil
}

// WriteTimeline prints for a person which faults a run of the scenario would inject, and when.
func WriteTimeline(w io.Writer, sc *scenario.Scenario, lacking map[string]string) error {
	p := sc.Plan(lacking)
	fmt.Fprintf(w, "%s, seed %d: T is %s, the measured window %s", sc.Name, sc.Seed, sc.Negotiated(), sc.Duration)
	switch l := sc.LivenessPhase(); {
	case l > 0 && sc.Liveness == scenario.LivenessAuto && sc.Rotates():
		fmt.Fprintf(w, ", then until all faults are healed and every client has had its lock, within %s", l)
	case l > 0 && len(p.Steps) > 0:
		fmt.Fprintf(w, ", then until all faults are healed, and %s more", l)
	case l > 0:
		fmt.Fprintf(w, ", then %s more", l)
	}
	fmt.Fprintln(w)
	if p.Interval > 0 {
		fmt.Fprintf(w, "schedule %s: a fault every %s on average, of", sc.Schedule, p.Interval.Round(time.Millisecond))
		for _, k := range p.Kinds {
			fmt.Fprintf(w, " %s", k)
		}
		fmt.Fprintln(w)
	}
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	for _, s := range p.Steps {
		at, until, f := s.Fault.At.String(), "", s.Fault
		switch {
		case f.Trigger != "":
			at = f.Trigger
			if s.After != "" {
				at += " after " + s.After
			}
		case !f.Momentary():
			until = (f.At + sc.Resolve(f.For)).String()
		}
		if f.Until != "" {
			until = f.Until
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", at, until, s.ID, f.Does())
	}
	return t.Flush()
}
