package harness

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"locklab/harness/check"
	"locklab/harness/scenario"
)

// timelineFile has the resolved schedule in a run directory.
const timelineFile = "timeline.json"

// A timeline is a resolved schedule, as it is kept with a run: what was drawn depends on
// what the machine could do, so it cannot be drawn again elsewhere.
type timeline struct {
	Schedule   string                  `json:"schedule"`
	Seed       uint64                  `json:"seed"`
	IntervalNs time.Duration           `json:"interval_ns,omitempty"` // mean time between beginnings of drawn faults
	Kinds      []scenario.WeightedKind `json:"kinds,omitempty"`       // that faults were drawn of
	Faults     []timelineFault         `json:"faults"`
}

type timelineFault struct {
	ID    string            `json:"id"`
	Drawn bool              `json:"drawn"`
	AtNs  time.Duration     `json:"at_ns"` // after the measured window's start
	ForNs time.Duration     `json:"for_ns,omitempty"`
	Says  string            `json:"says"`
	Keys  map[string]string `json:"keys"` // as in a scenario's file
}

// writeTimeline keeps a plan in a run directory.
func writeTimeline(dir string, sc *scenario.Scenario, p scenario.Plan) error {
	t := timeline{Schedule: sc.Schedule, Seed: sc.Seed, IntervalNs: p.Interval, Kinds: p.Kinds, Faults: []timelineFault{}}
	for _, s := range p.Steps {
		t.Faults = append(t.Faults, timelineFault{ID: s.ID, Drawn: s.Drawn, AtNs: s.Fault.At, ForNs: sc.Resolve(s.Fault.For), Says: s.Fault.String(), Keys: s.Fault.Keys()})
	}
	return writeJSON(filepath.Join(dir, timelineFile), t)
}

// readTimeline returns the plan of a run; one without the file is older, and had what its scenario names.
func readTimeline(dir string, sc *scenario.Scenario) (scenario.Plan, error) {
	b, err := os.ReadFile(filepath.Join(dir, timelineFile))
	if errors.Is(err, fs.ErrNotExist) {
		return sc.Plan(nil), nil
	}
	if err != nil {
		return scenario.Plan{}, err
	}
	var t timeline
	if err := json.Unmarshal(b, &t); err != nil {
		return scenario.Plan{}, fmt.Errorf("read %s: %w", timelineFile, err)
	}
	p := scenario.Plan{Kinds: t.Kinds, Interval: t.IntervalNs}
	for _, f := range t.Faults {
		fault, err := scenario.FaultOf(f.Keys)
		if err != nil {
			return scenario.Plan{}, fmt.Errorf("read %s: fault %s: %w", timelineFile, f.ID, err)
		}
		p.Steps = append(p.Steps, scenario.PlannedFault{ID: f.ID, Drawn: f.Drawn, Fault: fault})
	}
	return p, nil
}

// planned is what was meant to be done, for the check of what was done.
func planned(p scenario.Plan) []check.PlannedFault {
	var all []check.PlannedFault
	for _, s := range p.Steps {
		f := s.Fault
		one := check.PlannedFault{ID: s.ID, Kind: f.Kind, Target: f.Target, Cause: causeOf(f.Kind), Drawn: s.Drawn, HitsHolder: f.HitsHolder(), HitsWaiter: f.HitsWaiter(),
			HitsHead: f.Target == scenario.TargetHeadWaiter, SparesServers: f.From == scenario.FromClients}
		if !f.HitsHost() {
			one.Role, one.Target = f.Target, "" // the hosts are known when it strikes
		}
		all = append(all, one)
	}
	return all
}

// WriteTimeline prints what a run of the scenario would do and when, for a person.
func WriteTimeline(w io.Writer, sc *scenario.Scenario, lacking map[string]string) error {
	p := sc.Plan(lacking)
	fmt.Fprintf(w, "%s, seed %d: T is %s, the measured window %s", sc.Name, sc.Seed, sc.Negotiated(), sc.Duration)
	switch l := sc.LivenessPhase(); {
	case l > 0 && sc.Liveness == scenario.LivenessAuto:
		fmt.Fprintf(w, ", then until all is healed and each has got its lock, within %s", l)
	case l > 0 && len(p.Steps) > 0:
		fmt.Fprintf(w, ", then until all is healed and %s more", l)
	case l > 0:
		fmt.Fprintf(w, ", then %s more", l)
	}
	fmt.Fprintln(w)
	if p.Interval > 0 {
		fmt.Fprintf(w, "schedule %s: one in %s of", sc.Schedule, p.Interval.Round(time.Millisecond))
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
