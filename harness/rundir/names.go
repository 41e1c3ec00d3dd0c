package rundir

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"locklab/harness/history"
)

// Files of a run directory. Raw ones are written once, while the run lasts. Derived ones are replaced whole whenever
// the run is judged or reported again.
const (
	ScenarioFile = "scenario.yaml" // raw: the resolved scenario
	EnvFile      = "env.json"      // raw: what the run ran on
	timelineFile = "timeline.json" // raw: the resolved schedule of faults
	hostsDir     = "hosts"         // raw: a folder for each host
	ResultFile   = "result.json"   // derived
	VerdictsFile = "verdicts.json" // derived
	HistoryFile  = "history.jsonl" // derived
	HlogFile     = "latency.hlog"  // derived
	HiccupsFile  = "hiccups.hlog"  // derived
	BenchFile    = "bench.txt"     // derived
	ReportFile   = "report.html"   // derived
	plotsDir     = "plots"         // derived: the pictures of the report
	IndexFile    = "index.html"    // derived, of a folder of runs
)

// Files of a host's folder. All are raw. History and log of the host's first process have these names, and those of
// later processes have a number too.
const (
	AgentHistory   = "agent" + history.SegmentSuffix // of the host's agent, as it arrived
	processHistory = "process" + history.SegmentSuffix
	processLog     = "process.log"
	txnLogDir      = "txnlog"   // of a server: its transaction logs from the run's beginning on
	dumpFile       = "dump.txt" // of a server: the sessions and ephemeral znodes that it had at the end
)

// A Snapshot is the file of a server's folder that has its counters at one moment of the run.
type Snapshot string

// The snapshots of a run.
const (
	SnapshotStart Snapshot = "mntr-start.txt" // as the measured window opens
	SnapshotEnd   Snapshot = "mntr-end.txt"   // as it closes
)

// Hosts that every run names alike.
const (
	HarnessHost  = "harness" // the harness itself, which has a folder among the hosts
	ObserverHost = "o1"
	ResourceHost = "r1"
)

// TimelinePath returns the path of a run's first picture.
func TimelinePath(dir string) string { return filepath.Join(dir, plotsDir, "timeline.svg") }

// HostsDir returns the folder with the folders of all hosts.
func HostsDir(dir string) string { return filepath.Join(dir, hostsDir) }

// HostDir returns the folder of a host.
func HostDir(dir, host string) string { return filepath.Join(dir, hostsDir, host) }

// TxnLogDir returns the folder with the transaction logs of a server.
func TxnLogDir(dir, server string) string { return filepath.Join(HostDir(dir, server), txnLogDir) }

// ReportPath returns the path of the report of a run or of a sweep.
func ReportPath(dir string) string { return filepath.Join(dir, ReportFile) }

// LogPath returns where the log of a host's first process is below a run directory, for messages.
func LogPath(host string) string { return path.Join(hostsDir, host, processLog) }

// ProcessHistory returns the file of a host's folder with the history of the host's n-th process, from 1.
func ProcessHistory(n int) string { return numbered(processHistory, n) }

// ProcessLog returns the file of a host's folder with the log of the host's n-th process, from 1.
func ProcessLog(n int) string { return numbered(processLog, n) }

func numbered(name string, n int) string {
	if n == 1 {
		return name
	}
	ext := path.Ext(name)
	return fmt.Sprintf("%s-%d%s", strings.TrimSuffix(name, ext), n, ext)
}
