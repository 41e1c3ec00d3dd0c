package rundir

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"locklab/chaos"
	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/check/evidence"
	"locklab/harness/fail"
	"locklab/harness/history"
	"locklab/harness/scenario"
	"locklab/harness/untrusted"
)

// A Run is everything that the raw files of a run directory say.
type Run struct {
	Scenario *scenario.Scenario
	Plan     chaos.Plan // the faults that were planned
	Env      Env

	Events       *history.Log          // merged
	Acquisitions []history.Acquisition // put together from Events

	// Partial says that the run was interrupted or broke off, Interrupted that a person or a signal ended it.
	Partial, Interrupted bool
	// Incomplete says why the record of the run is not whole, and names a file each time. The record of a process that
	// a fault killed is whole if it goes on until the process died.
	Incomplete []string
	// Warnings are what else a reader must know about the record.
	Warnings []string
	// Servers is the evidence of the servers' transaction logs; nil if the run never collected them.
	Servers *evidence.ServerLog
	// CountersAtStart and CountersAtEnd are the servers' counters, by server and by name as mntr gives them, at the
	// first and at the last snapshot; nil if there is none.
	CountersAtStart, CountersAtEnd map[string]map[string]float64

	_ struct{}
}

// Begun returns a run of which nothing but its scenario is known.
func Begun(sc *scenario.Scenario) *Run { return &Run{Scenario: sc, Partial: true} }

// Read reads the raw files of a run directory. A directory without a scenario is refused with [ErrNoRun]. Every other
// file may be missing, because a harness that was killed early leaves little more; such a run is partial.
func Read(dir string) (*Run, error) {
	if err := RequireRun(dir); err != nil {
		return nil, err
	}
	src, err := ReadScenario(dir)
	if err != nil {
		return nil, err
	}
	r := &Run{}
	if r.Scenario, err = scenario.LoadRecord(ScenarioFile, src); err != nil {
		return nil, err
	}
	var envErr error
	if r.Env, envErr = ReadEnv(dir); envErr != nil && !errors.Is(envErr, fs.ErrNotExist) {
		return nil, envErr
	}
	var records []history.Record
	r.Events, records, err = history.ReadRaw(HostsDir(dir), untrusted.Line)
	if err != nil && !errors.Is(err, history.ErrNoBeginning) && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	r.CountersAtStart, r.CountersAtEnd = readCounters(dir, SnapshotStart), readCounters(dir, SnapshotEnd)
	r.printable()
	// What needs only the events is found out while the servers' logs are read.
	var meanwhile sync.WaitGroup
	defer meanwhile.Wait()
	var known attempted
	var missing, changed []string
	meanwhile.Go(func() { r.Acquisitions = history.Acquisitions(r.Events) })
	meanwhile.Go(func() { known = attemptsOf(r) })
	meanwhile.Go(func() { missing = unanswered(r) })
	meanwhile.Go(func() { changed = changedFiles(dir, r.Events) })
	end, ended := r.Events.First(history.OpEnd)
	r.Partial = !ended || end.Ending() != history.EndComplete
	r.Interrupted = ended && end.Ending() == history.EndInterrupt
	if r.Plan, err = ReadTimeline(dir, r.Scenario); err != nil {
		return nil, err
	}
	r.Incomplete, r.Warnings = incompleteness(dir, r, records, envErr)
	r.Scenario.Layout = cmp.Or(r.Scenario.Layout, declaredLayout(r.Events))
	r.Servers = readServerLog(dir, r.Scenario, r.Events)
	if r.Servers != nil {
		for _, remark := range r.Servers.Remarks {
			r.Warnings = append(r.Warnings, "servers: "+remark)
		}
	}
	meanwhile.Wait()
	changed = slices.DeleteFunc(changed, func(why string) bool {
		file, _, _ := strings.Cut(why, " ")
		return slices.ContainsFunc(r.Incomplete, func(w string) bool { return strings.HasPrefix(w, file+" ") })
	})
	r.Incomplete = slices.Concat(r.Incomplete, unrecorded(r, known), missing, changed)
	untrusted.Lines(&r.Incomplete)
	return r, nil
}

// declaredLayout returns the layout of znodes that the lock's command declared in its greeting; empty if it did not.
// From here on it counts as if the scenario said so.
func declaredLayout(events *history.Log) nodes.Layout {
	e, declared := events.First(history.OpLayout)
	if !declared {
		return ""
	}
	l, err := nodes.ParseLayout(e.Layout())
	if err != nil {
		return ""
	}
	return l
}

// ReadScenario returns the bytes of a run's resolved scenario. A directory that holds no run is refused with an error
// that wraps [fs.ErrNotExist].
func ReadScenario(dir string) ([]byte, error) { return os.ReadFile(filepath.Join(dir, ScenarioFile)) }

// Format is the version of the run directories that this package writes.
//
//   - Format 1 has no version. Nothing in it says which run a record belongs to, or where the record ends.
//   - In format 2, env.json has the version and the run's id. Each file of raw history begins with the run's id and
//     its own name. A process that ends as it was asked to leaves an end mark, and so does the harness. The harness
//     records how much it received of each history, and how much it copied of each server's transaction logs and how
//     far that server had come. A record of this format is whole if all of that is as it should be. Later runs also
//     have the checksums of their raw files, and end marks have that of the events; where those are missing they are
//     not demanded.
const Format = 2

// ErrBadFile says that a file of a run directory cannot be understood, or has a format that is not known.
var ErrBadFile = fail.Input.New("bad file in a run directory")

// unproven is the warning about a run directory of format 1.
const unproven = "completeness cannot be proved: this run directory is older than the end marks of records " +
	"(format 1), so a record that lacks its end may go unnoticed"

// printable makes the texts of a run directory safe to show. A run directory can come from another machine, and what
// clients, servers and a lock's command recorded in it ends up on terminals, in pictures and in files that other
// programs parse. So none of its characters may have an effect other than being seen.
//
// The events are made so as they are read.
func (r *Run) printable() {
	untrusted.Lines(&r.Env)
	for _, all := range []*map[string]map[string]float64{&r.CountersAtStart, &r.CountersAtEnd} {
		untrusted.Lines(all)
	}
}
