package rundir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"locklab/ensembles"
	"locklab/ensembles/txnlog"
	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
	"locklab/harness/scenario"
)

// collection is what a history says about the copying of the servers' transaction logs.
type collection struct {
	asked bool  // the run tried to copy them
	since int64 // the last zxid before the run, of the server that lagged most; 0 = not known
	ended int64 // the last reading of the wall clock, in ms; 0 = none
	seen  int64 // the last zxid that every server had seen that told before its log was copied; 0 = not known
	// granted is the last zxid that a client was told of as its token; 0 = none, or tokens may be something else.
	granted int64
	failed  map[string]bool // servers of whose logs at most a part is there
	why     []string        // the failures, in words
}

func collectionOf(dir string, events *history.Log) collection {
	c := collection{failed: map[string]bool{}}
	elsewhere := false
	for _, e := range events.Of(history.OpClock, history.OpAcquire, history.OpServerLog, history.OpPing) {
		switch e.Op {
		case history.OpClock:
			if is := e.WallClock(); is.Host == "" {
				c.ended = is.Wall / 1e6
			}
		case history.OpAcquire:
			c.granted = max(c.granted, e.Token)
		case history.OpPing:
			elsewhere = true
		case history.OpServerLog:
			c.asked = true
			switch log := e.ServerLog(); {
			case e.Kind == history.Info && (c.since == 0 || log.LastZxid < c.since):
				c.since = log.LastZxid
			case e.Kind == history.Fail:
				c.failed[log.Server] = true
				c.why = append(c.why, fmt.Sprintf("the log of %s was not copied (%s)", log.Server, log.Detail))
			case e.Kind == history.OK:
				if log.LastZxid != 0 && (c.seen == 0 || log.LastZxid < c.seen) {
					c.seen = log.LastZxid
				}
				if cut := cutLog(dir, log); cut != "" {
					c.failed[log.Server] = true
					c.why = append(c.why, fmt.Sprintf("the log of %s %s", log.Server, cut))
				}
			}
		}
	}
	if elsewhere {
		c.ended = 0 // the servers' clocks are not this machine's
	}
	return c
}

// readServerLog reads the evidence of the servers from a run directory; nil if the run never asked for it.
func readServerLog(dir string, sc *scenario.Scenario, events *history.Log) *evidence.ServerLog {
	copied := collectionOf(dir, events)
	if foreign(sc) {
		copied.granted = 0
	}
	log := &evidence.ServerLog{Layout: layoutOf(sc)}
	var sources []txnlog.Source
	for i := range sc.Servers {
		name := fmt.Sprintf("zk%d", i+1)
		log.Ensemble = append(log.Ensemble, name)
		if copied.failed[name] {
			continue // what the missing part has would look as if it had never been committed
		}
		logs := os.DirFS(TxnLogDir(dir, name))
		if files, err := txnlog.Files(logs); err == nil && len(files) > 0 {
			sources = append(sources, txnlog.Source{Server: name, Dir: logs})
			log.Servers = append(log.Servers, name)
		}
	}
	missing := func(what string) *evidence.ServerLog {
		log.Missing = strings.Join(append([]string{what}, copied.why...), "; ")
		return log
	}
	switch {
	case !copied.asked && len(sources) == 0:
		return nil
	case len(sources) == 0:
		return missing("none was collected")
	case len(sources) <= sc.Servers/2:
		return missing(fmt.Sprintf("only %d of %d were collected, which is not a majority", len(sources), sc.Servers))
	}
	m, passed := passOver(sc.Servers, copied, sources, merge(sc.Servers, copied, sources, nil), events)
	log.History = m.history
	for i := range passed {
		log.Remarks = append(log.Remarks, passed[i].String())
	}
	all := m.all
	if m.err != nil {
		log.Doubts = append(log.Doubts, m.err.Error())
	}
	log.Doubts = append(log.Doubts, m.seen.doubts(all, copied, events)...)
	if why := localSessions(sc, events, log.History); why != "" {
		log.Doubts = append(log.Doubts, why)
	}
	addContradictions(log, all)
	for _, s := range sources {
		lacks := slices.ContainsFunc(all.Gaps, func(g txnlog.Gap) bool { return g.Server == s.Server })
		if lacks || slices.Contains(all.Fell, s.Server) { // as in few logs, which are read again
			log.Contradictions = append(log.Contradictions,
				revivedByReplay(s.Server, recordsOf(s), lastSnapshot(dir, s.Server), log.History, events)...)
		}
	}
	addLeftovers(dir, log)
	return log
}

// foreign reports whether a client process uses a recipe that is not built into locklab. Its clients need not record
// every session, nor have the zxids of their znodes as tokens.
func foreign(sc *scenario.Scenario) bool {
	for i := range sc.ClientProcesses {
		if sc.RecipeOf(i).Foreign {
			return true
		}
	}
	return false
}

// layoutOf returns the layout of the znodes by which the scenario's clients contend; empty if they have none.
func layoutOf(sc *scenario.Scenario) nodes.Layout { return sc.RecipeOf(0).Layout }

// addContradictions notes servers, or transactions, that rule each other out.
func addContradictions(log *evidence.ServerLog, all *txnlog.Ensemble) {
	for _, c := range all.Contradictions {
		second := c.Records[1]
		log.Contradictions = append(log.Contradictions, evidence.Contradiction{Server: c.Servers[1],
			Session: history.SessionID(second.Session), Zxid: second.Zxid, Text: c.String()})
	}
	for _, o := range log.History.Oddities {
		log.Contradictions = append(log.Contradictions, evidence.Contradiction{Zxid: o.Zxid,
			Session: history.SessionID(o.Session), Path: o.Path,
			Text: "the servers' transactions do not fit: " + o.String()})
	}
}

// localSessions says what an ensemble's logs do not tell because it has local sessions (localSessionsEnabled): servers
// log such a session only when it is upgraded, and otherwise neither its beginning nor its end. Such sessions show by
// grants to clients whose sessions begin in no log. It returns "" if there are none, or if the servers are a lab's,
// which have no local sessions.
func localSessions(sc *scenario.Scenario, events *history.Log, h *nodes.History) string {
	if sc.Connect == "" || foreign(sc) {
		return ""
	}
	missing := map[history.SessionID]bool{}
	var first history.Event
	for _, e := range events.Of(history.OpAcquire) {
		if e.Kind != history.OK || e.Session == 0 || e.Token > h.Last {
			continue
		}
		if s := h.Sessions[int64(e.Session)]; s == nil || s.Created == 0 {
			if len(missing) == 0 {
				first = e
			}
			missing[e.Session] = true
		}
	}
	if len(missing) == 0 {
		return ""
	}
	others := ""
	switch n := len(missing) - 1; {
	case n == 1:
		others = ", and so does one other"
	case n > 1:
		others = fmt.Sprintf(", and so do %d others", n)
	}
	return fmt.Sprintf("session %s of %s, with which it was granted a lock, begins in no log%s; the ensemble seems to "+
		"have local sessions (localSessionsEnabled), of which servers log neither the beginning nor the end, so what "+
		"depends on these cannot be judged", first.Session, first.Client, others)
}

// WriteCounters writes the servers' counters, by server and by name, as a snapshot.
func WriteCounters(dir string, snapshot Snapshot, counters map[string]map[string]float64) error {
	var errs []error
	for server, all := range counters {
		name := filepath.Join(HostDir(dir, server), string(snapshot))
		errs = append(errs, replaceWith(name, []byte(ensembles.FormatMetrics(all))))
	}
	return errors.Join(errs...)
}

// readCounters reads a snapshot of the servers' counters; nil if there is none.
func readCounters(dir string, snapshot Snapshot) map[string]map[string]float64 {
	names, err := fs.Glob(os.DirFS(dir), filepath.Join(hostsDir, "*", string(snapshot)))
	if err != nil || len(names) == 0 {
		return nil
	}
	all := map[string]map[string]float64{}
	for _, name := range names {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			continue
		}
		all[filepath.Base(filepath.Dir(name))] = ensembles.ParseMetrics(string(b))
	}
	return all
}
