package serve

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"
	"time"

	"locklab/harness/check"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
	"locklab/harness/rundir"
	"locklab/harness/untrusted"
	"locklab/reports/chart"
	"locklab/reports/result"
	"locklab/reports/runpage"
)

// A state is what has become of a run: its outcome, or why it has none.
type state string

// The states of runs without an outcome.
const (
	running    state = "running"
	unjudged   state = "not-judged" // its harness was killed, or judges it just now
	unreadable state = "unreadable"
)

// states are all states, in the order in which a reader can choose one, with what they are called.
var states = []struct {
	State state
	Text  string
}{
	{running, "Running"},
	{state(result.Violation), "Fail: violation"},
	{state(result.ThresholdMissed), "Fail: threshold missed"},
	{state(result.DamageShown), "Damage shown, as expected"},
	{state(result.AsExpected), "Pass"},
	{state(result.Inconclusive), "Unknown"},
	{unjudged, "Not judged"},
	{unreadable, "Unreadable"},
}

func (s state) Text() string {
	for _, o := range states {
		if o.State == s {
			return o.Text
		}
	}
	return "Unknown"
}

// Class is the class of the state's text on a page.
func (s state) Class() string {
	switch s {
	case state(result.AsExpected):
		return "pass"
	case state(result.Violation), state(result.ThresholdMissed):
		return "fail"
	case running:
		return "running"
	}
	return "unknown"
}

func (s state) Judged() bool { return s != running && s != unjudged && s != unreadable }

// state finds out what has become of the run.
func (r *run) state(root *os.Root) state {
	if r.Why == "" && len(r.Result.Checks) > 0 {
		for _, s := range states {
			if s.State == state(r.Result.Outcome) && s.State.Judged() {
				return s.State
			}
		}
		return state(result.Inconclusive)
	}
	d, err := root.Open(r.Name)
	if err == nil {
		defer d.Close()
		if rundir.Lasts(d) {
			return running
		}
	}
	if r.Why != "" {
		return unreadable
	}
	return unjudged
}

const (
	// leastPause is the least time from one look at a run to the next.
	leastPause = time.Second
	// mostShare is how much of one processor looking at a run may take, because the run needs the processors.
	mostShare = 0.1
)

// A frame is a run that lasts as it was at one moment.
type frame struct {
	Phase    string // what the run does
	Ended    bool   // it is over, and will be judged
	Numbers  []tile
	Pictures []chart.Picture
	Problem  string // why nothing is known of it
}

// A tile is a number with its label.
type tile struct{ Value, Label string }

// frames has the latest frame of each run that somebody watches. All who watch a run share its frames.
type frames struct {
	mu  sync.Mutex
	all map[string]*watched
}

// A watched is a run that somebody watches.
type watched struct {
	mu   sync.Mutex
	last frame
	next time.Time // when the run may be looked at again
}

// of returns the latest frame of a run, and how long it is the latest.
func (f *frames) of(root string, name string) (frame, time.Duration) {
	f.mu.Lock()
	if f.all == nil {
		f.all = map[string]*watched{}
	}
	w := f.all[name]
	if w == nil {
		w = &watched{}
		f.all[name] = w
	}
	f.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	if now := time.Now(); now.After(w.next) {
		w.last = look(filepath.Join(root, filepath.FromSlash(name)))
		done := time.Now()
		w.next = done.Add(max(leastPause, time.Duration(float64(done.Sub(now))/mostShare)))
	}
	return w.last, time.Until(w.next)
}

func (f *frames) forget(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.all, name)
}

// look reads what a run has recorded so far.
func look(dir string) frame {
	if err := plain(dir); err != nil {
		return frame{Problem: untrusted.Line(err.Error())}
	}
	r, err := rundir.Read(dir)
	if err != nil {
		return frame{Problem: untrusted.Line(err.Error())}
	}
	in := result.NewInput(r, check.Report{Verdict: evidence.Unknown})
	untrusted.Lines(&in.Result)
	f := frame{Phase: phaseOf(r), Numbers: tilesOf(&in.Result), Pictures: runpage.Live(in)}
	_, f.Ended = r.Events.First(history.OpEnd)
	return f
}

// tilesOf returns the numbers that are shown while a run lasts.
func tilesOf(r *result.Result) (all []tile) {
	for _, n := range [...]tile{{"operations.acquired_in_run", "acquired so far"},
		{"acquired_per_s", "per second, in the window"}, {"acquire.p50", "acquire, median"},
		{"acquire.p99", "acquire, p99"}} {
		if q, known := result.Named(n.Value); known {
			all = append(all, tile{q.Show(q.Value(r)), n.Label})
		}
	}
	return all
}

// plain refuses a run directory with anything but directories and regular files in it, so that no link leads out of it.
func plain(dir string) error {
	return filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !d.Type().IsRegular() {
			err = fmt.Errorf("%s is neither a directory nor a regular file: %w", path.Base(name), untrusted.ErrRefused)
		}
		return err
	})
}

// phases say what a run does, by its phase.
var phases = map[history.Phase]string{
	history.PhaseEnsemble: "The servers start.",
	history.PhaseConnect:  "The clients connect.",
	history.PhaseWarmup:   "The clients warm up.",
	history.PhaseMeasure:  "The clients work, and are measured.",
	history.PhaseHeal:     "Faults are healed.",
	history.PhaseLiveness: "The clients must make progress after the faults.",
	history.PhaseDrain:    "The clients finish.",
	history.PhaseCollect:  "What was recorded is collected.",
}

// phaseOf says what a run does.
func phaseOf(r *rundir.Run) string {
	if _, ended := r.Events.First(history.OpEnd); ended {
		return "The run has ended and is being judged."
	}
	text := "The run begins."
	for _, e := range r.Events.Of(history.OpPhase) {
		if says, known := phases[e.Phase()]; known {
			text = says
		}
		if e.Phase() == history.PhaseEnsemble && r.Scenario.Connect != "" {
			text = "The run joins the ensemble."
		}
	}
	return fmt.Sprintf("%s %.0f s have been recorded.", text, chart.Seconds(r.Events.End()))
}
