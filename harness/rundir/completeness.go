package rundir

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"locklab/chaos"
	"locklab/ensembles/txnlog"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
	"locklab/harness/scenario"
)

// A completeness finds out whether the record of a run is whole. Each reason that it gives names a file.
type completeness struct {
	dir     string
	run     *Run
	records map[string]history.Record // by File
	begin   *history.Event            // of the run; nil if the harness's record lacks it
	marked  bool                      // the directory has format 2 or later
	lacks   []string
}

// incompleteness says why the record of a run is not whole, and which warnings the run deserves for it. The files of
// the run have been read, apart from the servers' transaction logs. If the environment is missing, envErr says so.
func incompleteness(dir string, r *Run, records []history.Record, envErr error) (lacks, warnings []string) {
	c := completeness{dir: dir, run: r, records: map[string]history.Record{}}
	c.marked = r.Env.Format >= 2
	for _, rec := range records {
		c.records[rec.File] = rec
		c.marked = c.marked || rec.Heading.Run != ""
	}
	for _, e := range r.Events.Of(history.OpBegin) {
		if c.begin == nil {
			c.begin = &e
			c.marked = c.marked || e.Run() != ""
		}
	}
	for _, rec := range records {
		if tear := rec.Tear(); tear != "" {
			c.lacks = append(c.lacks, tear)
		}
	}
	if c.marked {
		c.documents(envErr)
		c.harness()
	} else {
		warnings = append(warnings, unproven)
	}
	c.processes()
	c.serverLogs()
	return c.lacks, warnings
}

// lack notes what is wrong with a file below the folder of all hosts, once.
func (c *completeness) lack(file, format string, args ...any) {
	text := fmt.Sprintf("%s/%s %s", hostsDir, file, fmt.Sprintf(format, args...))
	if !slices.Contains(c.lacks, text) {
		c.lacks = append(c.lacks, text)
	}
}

// documents examines the files that are written before anything is recorded.
func (c *completeness) documents(envErr error) {
	if c.begin != nil && c.run.Env.Run != c.begin.Run() && envErr == nil {
		c.lacks = append(c.lacks, fmt.Sprintf("%s is of run %q, and the harness's record of run %q", EnvFile,
			c.run.Env.Run, c.begin.Run()))
	}
	if errors.Is(envErr, fs.ErrNotExist) {
		c.lacks = append(c.lacks, EnvFile+" is missing")
	}
	if _, err := os.Stat(filepath.Join(c.dir, timelineFile)); errors.Is(err, fs.ErrNotExist) {
		c.lacks = append(c.lacks, timelineFile+" is missing")
	}
}

// harness examines the harness's own record, and then all records that it says it received.
func (c *completeness) harness() {
	var all history.Record
	for _, name := range slices.Sorted(maps.Keys(c.records)) {
		if rec := c.records[name]; isHarness(name) {
			all.Events += rec.Events
			all.Sum += rec.Sum
			all.Ends, all.Recorded, all.RecordedSum = rec.Ends, rec.Recorded, rec.RecordedSum
		}
	}
	switch {
	case c.begin == nil:
		c.lack(HarnessHost, "does not have the run's beginning")
		return
	case !all.Ends:
		c.lack(HarnessHost, "has no end mark: the harness was killed, or its record was cut")
		return
	case all.Events != all.Recorded:
		c.lack(HarnessHost, "has %d of the %d events that the harness recorded", all.Events, all.Recorded)
		return
	case all.Changed():
		c.lack(HarnessHost, "has other events than the harness recorded")
		return
	}
	received := map[string]bool{}
	for _, e := range c.run.Events.Of(history.OpReceived) {
		if e.Process == HarnessHost {
			received[e.Received().File] = true
			c.received(e.Kind, e.Received())
		}
	}
	for _, h := range Hosts(c.run.Scenario) {
		if file := path.Join(h, AgentHistory); !received[file] {
			c.lack(file, "was not received")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.records)) {
		if !isHarness(name) && !received[name] {
			c.lack(name, "is not among the records that the harness received")
		}
	}
}

// received compares a record with what the harness received of it.
func (c *completeness) received(kind history.Kind, got history.Received) {
	rec, present := c.records[got.File]
	run := c.begin.Run()
	switch {
	case kind != history.OK:
		c.lack(got.File, "did not arrive whole: %s", got.Detail)
	case !present:
		c.lack(got.File, "is missing")
	case rec.Bytes != 0 && rec.Heading.Run != run:
		c.lack(got.File, "is of run %q, and this is run %q", rec.Heading.Run, run)
	case rec.Bytes != 0 && rec.Heading.File != got.File:
		c.lack(got.File, "is the record %s/%s", hostsDir, rec.Heading.File)
	case rec.Bytes != got.Bytes:
		c.lack(got.File, "has %d bytes, and the harness received %d", rec.Bytes, got.Bytes)
	case rec.Zeros != 0: // a host keeps zeros behind its events, and sends none
		c.lack(got.File, "ends in %d zero bytes where the harness received events", rec.Zeros)
	}
}

// processes examines the record of every process that the agents say they started, apart from the servers'.
func (c *completeness) processes() {
	started, exits := map[string]int{}, map[string][]*history.Event{}
	for _, e := range c.run.Events.Of(history.OpProcess) {
		switch {
		case e.ProcessIs(history.ProcessStarted):
			started[e.Process]++
		case e.ProcessIs(history.ProcessExited):
			exits[e.Process] = append(exits[e.Process], &e)
		}
	}
	faults := killers(c.run.Events)
	for _, h := range recorders(c.run.Scenario) {
		n := started[h]
		if n == 0 && !c.run.Partial && c.collected() {
			n = 1 // a run that came to its end had a process there
		}
		for i := range n {
			var exit *history.Event
			if i < len(exits[h]) {
				exit = exits[h][i]
			}
			c.process(h, path.Join(h, ProcessHistory(i+1)), exit, faults)
		}
	}
}

// process examines the record of one process, which exited then; nil if its exit is not recorded.
func (c *completeness) process(host, file string, exit *history.Event, faults []*history.Fault) {
	rec, present := c.records[file]
	switch {
	case !present:
		c.lack(file, "is missing")
	case rec.Ends && rec.Events != rec.Recorded:
		c.lack(file, "has %d of the %d events that its process recorded", rec.Events, rec.Recorded)
	case rec.Changed():
		c.lack(file, "has other events than its process recorded")
	case rec.Ends || rec.Done || killed(host, exit, faults, 2*c.run.Events.Clocks().Err(host)):
	case host == ResourceHost && !c.marked && rec.Events > 0: // format 1 does not say where it ends
	case exit == nil:
		c.lack(file, "has no end mark, and nothing says how its process ended")
	default:
		how := exit.ProcessChange().Detail
		c.lack(file, "has no end mark, and no fault explains how its process ended (%s)", how)
	}
}

// serverLogs compares the servers' transaction logs with what was copied.
func (c *completeness) serverLogs() {
	for _, e := range c.run.Events.Of(history.OpServerLog) {
		if e.Kind == history.OK {
			log := e.ServerLog()
			if why := cutLog(c.dir, log); why != "" {
				c.lack(path.Join(log.Server, txnLogDir), "%s", why)
			}
		}
	}
}

// cutLog says what is wrong if the transaction logs of a server are not as long as they were when they were copied.
func cutLog(dir string, copied history.ServerLog) string {
	logs := os.DirFS(TxnLogDir(dir, copied.Server))
	names, err := txnlog.Files(logs)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "cannot be read: " + err.Error()
	}
	var has int64
	for _, name := range names {
		st, err := fs.Stat(logs, name)
		if err != nil {
			return "cannot be read: " + err.Error()
		}
		has += st.Size()
	}
	if has == copied.Bytes {
		return ""
	}
	return fmt.Sprintf("has %d bytes, and %d were copied", has, copied.Bytes)
}

// Hosts returns the hosts that have a folder with the record of an agent in a run of a scenario, the servers first.
func Hosts(sc *scenario.Scenario) []string {
	var all []string
	for i := range sc.Servers {
		all = append(all, fmt.Sprintf("zk%d", i+1))
	}
	return append(all, recorders(sc)...)
}

// recorders returns the hosts whose processes record a history.
func recorders(sc *scenario.Scenario) []string {
	var all []string
	for i := range sc.ClientProcesses {
		all = append(all, fmt.Sprintf("c%d", i+1))
	}
	if sc.Observer {
		all = append(all, ObserverHost)
	}
	return append(all, ResourceHost)
}

// collected reports whether the harness has records of hosts, as it has in every run that has a lab.
func (c *completeness) collected() bool {
	for name := range c.records {
		if !isHarness(name) {
			return true
		}
	}
	return false
}

func isHarness(file string) bool { return strings.HasPrefix(file, HarnessHost+"/") }

// killers returns the faults that end processes.
func killers(events *history.Log) []*history.Fault {
	natures := chaos.Natures()
	return slices.DeleteFunc(history.Faults(events), func(f *history.Fault) bool {
		return natures[f.Kind].Cause != evidence.CauseKill
	})
}

// killed reports whether a fault had struck the host of a process, or may have, when the process exited, as far as
// clocks tell that may be off each other by so much.
func killed(host string, exit *history.Event, faults []*history.Fault, off int64) bool {
	if exit == nil {
		return false
	}
	for _, f := range faults {
		from, until := int64(math.MaxInt64), int64(math.MaxInt64)
		struck := false
		for i := range f.Steps {
			e := &f.Steps[i]
			struck = struck || slices.Contains(e.FaultStep().Hosts, host)
			if e.Op == history.OpFaultInject {
				from = min(from, e.At)
			}
		}
		if f.Healed != history.None {
			until = f.Healed
		}
		if struck && from-off <= exit.At && exit.At-off <= until {
			return true
		}
	}
	return false
}
