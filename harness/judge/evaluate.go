package judge

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"locklab/chaos"
	"locklab/harness/check"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/harness/secondopinion"
	"locklab/harness/untrusted"
	"locklab/reports/chart"
	"locklab/reports/export"
	"locklab/reports/result"
	"locklab/reports/runpage"
	"locklab/workloads"
	"locklab/workloads/guard"
)

// An Outcome is what a run came to.
type Outcome struct {
	Dir    string
	Result result.Result
	Report check.Report // the verdicts of all checks with their evidence
	// Interrupted says that a person or a signal ended the run early.
	Interrupted bool
	// Written says that the directory has the derived files of this outcome.
	Written bool

	_ struct{}
}

// Judge judges the run in dir from its raw files alone and writes nothing.
func Judge(dir string) (Outcome, error) {
	in, err := evaluate(dir)
	if err != nil {
		return Outcome{}, fmt.Errorf("check %s: %w", dir, err)
	}
	return outcome(dir, in), nil
}

// Check judges the run in dir from its raw files alone and replaces its derived files, apart from those of its report.
func Check(dir string) (Outcome, error) {
	return replace(dir, "check", func(in result.Input) error { return write(dir, in) })
}

// Report draws the run in dir from its raw files alone and replaces its report and pictures.
func Report(dir string) (Outcome, error) {
	return replace(dir, "report", func(in result.Input) error { return runpage.Render(dir, in) })
}

// DrawOne draws a single picture of the run in dir from its raw files alone, and writes nothing.
func DrawOne(dir string, c runpage.Choice) (chart.Picture, error) {
	in, err := evaluate(dir)
	if err != nil {
		return chart.Picture{}, fmt.Errorf("report %s: %w", dir, err)
	}
	p, err := runpage.DrawOne(in, c)
	if err != nil {
		return p, fmt.Errorf("report %s: %w", dir, err)
	}
	return p, nil
}

// Export writes the run in dir in another format, from its raw files alone, and writes nothing into dir.
func Export(dir string, f export.Format, w io.Writer) error {
	in, err := result.Input{}, error(nil)
	if f.Unjudged {
		in.Run, err = rundir.Read(dir)
	} else {
		in, err = evaluate(dir)
	}
	if err == nil {
		err = f.Write(w, in)
	}
	if err != nil {
		return fmt.Errorf("export %s: %w", dir, err)
	}
	return nil
}

// Conclude does both what [Check] and what [Report] do, as at the end of a run.
func Conclude(dir string) (Outcome, error) {
	return replace(dir, "check", func(in result.Input) error { return conclude(dir, in) })
}

func conclude(dir string, in result.Input) error {
	var drawing sync.WaitGroup
	var drawn error
	drawing.Go(func() { drawn = runpage.Render(dir, in) })
	err := write(dir, in)
	drawing.Wait()
	return errors.Join(err, drawn)
}

// replace judges the run in dir and replaces derived files by what write writes. If it fails, it removes all derived
// files, so that no older verdict is taken for that of the files as they are now.
func replace(dir, doing string, write func(result.Input) error) (Outcome, error) {
	var out Outcome
	in, err := evaluate(dir)
	if err == nil {
		out = outcome(dir, in)
		out.Written = true
		err = write(in)
	}
	if err != nil {
		return out, fmt.Errorf("%s %s: %w", doing, dir, errors.Join(err, rundir.Discard(dir)))
	}
	return out, nil
}

// SecondOpinion judges the run in dir as [Conclude] does, or as [Judge] does if it is not to write. It judges it by
// Porcupine too, and compares its answers with those of the checks. Of an incomplete record nothing is asked, because
// no judge can have an opinion on it.
func SecondOpinion(dir string, write bool) (out Outcome, opinions []secondopinion.Opinion, err error) {
	ask := func(in result.Input) {
		if len(in.Incomplete) == 0 {
			opinions = secondopinion.Ask(in.Events, factsOf(in.Run), &in.Report)
		}
	}
	if write {
		out, err = replace(dir, "check", func(in result.Input) error {
			ask(in)
			return conclude(dir, in)
		})
		return out, opinions, err
	}
	in, err := evaluate(dir)
	if err != nil {
		return Outcome{}, nil, fmt.Errorf("check %s: %w", dir, err)
	}
	ask(in)
	return outcome(dir, in), opinions, nil
}

// write writes the derived files that are not part of the report.
func write(dir string, in result.Input) error {
	return rundir.WriteDerived(dir, rundir.Derived{
		History: in.Events, Verdicts: in.Report, Result: in.Result,
		Hlog:    func(w io.Writer) error { return result.WriteHlog(w, in) },
		Hiccups: func(w io.Writer) error { return result.WriteHiccups(w, in) },
		Bench:   func(w io.Writer) error { return result.WriteBench(w, in.Result) },
	})
}

func outcome(dir string, in result.Input) Outcome {
	return Outcome{Dir: dir, Result: in.Result, Report: in.Report, Interrupted: in.Interrupted}
}

// evaluate reads a run directory and judges it.
func evaluate(dir string) (result.Input, error) {
	run, err := rundir.Read(dir)
	if err != nil {
		return result.Input{}, err
	}
	rep := check.Run(run.Events, factsOf(run))
	run.Servers = nil     // only the checks need all that the servers' logs say, and it is large
	untrusted.Lines(&rep) // it quotes texts of the servers' logs
	in := result.NewInput(run, rep)
	untrusted.Lines(&in.Result)
	return in, nil
}

// factsOf returns what the checks need to know about a run besides its events.
func factsOf(run *rundir.Run) evidence.Facts {
	sc := run.Scenario
	var unmet []string
	recipe := sc.Mix()
	if recipe.MayToken {
		recipe.Tokens = slices.ContainsFunc(run.Acquisitions, func(a history.Acquisition) bool { return a.Token != 0 })
		bare := func(a history.Acquisition) bool { return a.Granted() && a.Token == 0 }
		if sc.Guard == guard.Fencing && (!recipe.Tokens || slices.ContainsFunc(run.Acquisitions, bare)) {
			unmet = append(unmet, "the guard fencing could not work because the lock's command did not give each grant a token")
		}
	}
	if end, ended := run.Events.First(history.OpEnd); ended && end.EndedBecause() != "" {
		unmet = append(unmet, end.EndedBecause())
	}
	faulty := len(run.Plan.Steps) > 0
	f := evidence.Facts{
		Tokens: recipe.Tokens, MayToken: recipe.MayToken, Queue: recipe.Queue, Exclusive: recipe.Exclusive, Guard: sc.Guard,
		SessionTimeout: sc.Negotiated(), Tick: sc.Tick,
		Expect: map[string]evidence.Expectation{}, AtLeast: sc.Shown, Sometimes: sc.Sometimes,
		MinAcquired: sc.MinAcquired, Clients: sc.Clients,
		Faults: rundir.Planned(run.Plan), Natures: chaos.Natures(),
		Tries: sc.Try, Progress: sc.DemandsProgress(run.Plan), Recovers: faulty && sc.LivenessPhase() > 0,
		Partial: run.Partial, Incomplete: run.Incomplete, Unmet: unmet, Servers: run.Servers,
	}
	for _, e := range run.Events.Of(history.OpFinal) {
		if f.FinalValues == nil {
			f.FinalValues, f.FinalVersions = map[string]int64{}, map[string]int64{}
		}
		f.FinalValues[e.Lock], f.FinalVersions[e.Lock] = e.Final().Value, e.Final().Version
	}
	if f.Lists = sc.Section == scenario.SectionAppend; f.Lists && f.FinalValues != nil {
		f.FinalLists = finalLists(run.Events, f.FinalValues)
	}
	if sc.Workload == workloads.Semaphore {
		f.Permits = sc.Permits // the history has the changes
	}
	for _, name := range check.Expectable() {
		f.Expect[name] = evidence.Expectation(sc.Expected(name))
	}
	return f
}

// finalLists returns the lists of which every element is known. The second argument has how many elements each list had
// at the end.
func finalLists(events *history.Log, had map[string]int64) map[string][]int64 {
	lists := map[string][]int64{}
	for _, e := range events.Of(history.OpElement) {
		lists[e.Lock] = append(lists[e.Lock], e.Element())
	}
	for lock, n := range had {
		switch {
		case n == 0:
			lists[lock] = []int64{}
		case int64(len(lists[lock])) != n:
			delete(lists, lock)
		}
	}
	return lists
}
