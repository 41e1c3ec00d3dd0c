package harness

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"locklab/ensembles/txnlog"
	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/check"
	"locklab/harness/history"
	"locklab/harness/scenario"
)

// readServerLog reads the servers' own word from a run directory; nil if the run never asked
// for it.
func readServerLog(dir string, sc *scenario.Scenario, events []history.Event) *check.ServerLog {
	var ended int64 // the wall clock as last read, ms
	var since int64 // the last zxid before the run, as the first to begin copying had it
	asked := false
	var failed []string
	broken := map[string]bool{} // servers of whose logs only a part may be here
	for i := range events {
		e := &events[i]
		if e.Op == history.OpClock {
			ended = e.Value / 1e6
		}
		if e.Op != history.OpServerLog {
			continue
		}
		asked = true
		switch {
		case e.Kind == history.Info && (since == 0 || e.Value < since):
			since = e.Value
		case e.Kind == history.Fail:
			broken[e.Target] = true
			failed = append(failed, fmt.Sprintf("that of %s was not copied (%s)", e.Target, e.Detail))
		}
	}
	log := &check.ServerLog{Layout: layoutOf(sc)}
	var sources []txnlog.Source
	for i := range sc.Servers {
		name := fmt.Sprintf("zk%d", i+1)
		log.Ensemble = append(log.Ensemble, name)
		if broken[name] {
			continue // what a part of a log lacks would look as if it had never been committed
		}
		logs := os.DirFS(filepath.Join(dir, hostsDir, name, txnLogDir))
		if files, err := txnlog.Files(logs); err == nil && len(files) > 0 {
			sources = append(sources, txnlog.Source{Server: name, Records: txnlog.ReadDir(logs, name)})
			log.Servers = append(log.Servers, name)
		}
	}
	switch {
	case !asked && len(sources) == 0:
		return nil
	case len(sources) == 0:
		log.Missing = strings.Join(append([]string{"none was collected"}, failed...), "; ")
		return log
	case len(sources) <= sc.Servers/2:
		log.Missing = strings.Join(append([]string{fmt.Sprintf("only %d of %d were collected, which is no majority", len(sources), sc.Servers)}, failed...), "; ")
		return log
	}
	all, err := txnlog.Merge(sc.Servers, sources...)
	if err != nil {
		log.Doubts = append(log.Doubts, err.Error())
	}
	log.Doubts = append(log.Doubts, wholeness(all, since)...)
	log.Doubts = append(log.Doubts, clocks(all, since, ended)...)
	log.Doubts = append(log.Doubts, stepped(all, since, events)...)
	log.History = nodes.Replay(all.Committed())
	contradictions(log, all)
	for _, s := range sources {
		log.Contradictions = append(log.Contradictions, relogged(s, log.History, events)...)
	}
	readDumps(dir, log)
	return log
}

// layoutOf returns by which znodes the scenario's clients contend.
func layoutOf(sc *scenario.Scenario) check.Layout {
	r := sc.RecipeOf(0)
	layouts := map[string]check.Layout{scenario.LayoutQueue: check.LayoutQueue, scenario.LayoutReadWrite: check.LayoutReadWrite,
		scenario.LayoutTextbook: check.LayoutTextbook, scenario.LayoutSemaphore: check.LayoutSemaphore}
	switch l, known := layouts[r.Layout]; {
	case known:
		return l
	case r.Seen == scenario.SeenNode:
		return check.LayoutZnode
	case r.Name == scenario.RecipeNone:
		return check.LayoutQueue // it has no znodes, wherever one looks
	}
	return ""
}

// wholeness says why the merged logs may lack something that happened after since. In one epoch, transactions
// are numbered from 1 without a gap.
func wholeness(all *txnlog.Ensemble, since int64) []string {
	var doubts []string
	if len(all.Entries) == 0 {
		return []string{"the servers' logs are empty"}
	}
	undecided, missing := 0, int64(0)
	last := since
	if since == 0 {
		last = all.Entries[0].Zxid
	}
	for i := range all.Entries {
		e := &all.Entries[i]
		if e.Zxid>>32 == last>>32 && e.Zxid > last+1 {
			missing += e.Zxid - last - 1
		}
		if counter := e.Zxid & (1<<32 - 1); e.Zxid>>32 > last>>32 && counter > 1 {
			missing += counter - 1
		}
		last = max(last, e.Zxid)
		if e.Fate == txnlog.Undecided && e.Type != txnlog.Error {
			undecided++
		}
	}
	if first := all.Entries[0].Zxid; since == 0 && first != 1 && first != 1<<32+1 {
		doubts = append(doubts, fmt.Sprintf("the servers' logs begin at zxid %s, and where the run began is not known", check.Zxid(first)))
	}
	if missing > 0 {
		doubts = append(doubts, fmt.Sprintf("%d transactions are in no server's log", missing))
	}
	if undecided > 0 {
		doubts = append(doubts, fmt.Sprintf("of %d transactions the logs do not tell whether they were committed", undecided))
	}
	return doubts
}

// steppedMs is by how much a leader's clock may be off before its transactions' times prove nothing.
const steppedMs = 100

// clocks says why the times of transactions are not those of one wall clock, which all hosts share: a leader's went
// back, or was ahead of the run's end. From one leader to the next only what was committed is in the order of time: one that
// is cut off goes on preparing what never will be.
func clocks(all *txnlog.Ensemble, since, ended int64) []string {
	var epoch, last, committed, back, ahead int64
	for i := range all.Entries {
		e := &all.Entries[i]
		if e.Zxid <= since {
			continue // of before the run
		}
		if e.Zxid>>32 != epoch {
			epoch, last = e.Zxid>>32, e.Time
		}
		last = max(last, e.Time)
		back, ahead = max(back, last-e.Time), max(ahead, e.Time-ended)
		if e.Fate == txnlog.Committed {
			committed = max(committed, e.Time)
			back = max(back, committed-e.Time)
		}
	}
	var doubts []string
	if back > steppedMs {
		doubts = append(doubts, fmt.Sprintf("a leader's clock went back by %d ms", back))
	}
	if ended != 0 && ahead > steppedMs {
		doubts = append(doubts, fmt.Sprintf("a leader's clock was ahead by %d ms or more", ahead))
	}
	return doubts
}

// stepped says why transactions may be placed wrongly though their times are in order: the clock of a server that led, or that can
// have led since, was set off. A step of seconds does not show where nothing was written for longer.
func stepped(all *txnlog.Ensemble, since int64, events []history.Event) []string {
	step, led := map[string]bool{}, map[string]bool{} // by fault
	for i := range events {
		switch e := &events[i]; {
		case e.Mode != scenario.FaultClockStep:
		case e.Op == history.OpFaultInject && e.Kind != history.Invoke:
			step[e.Fault] = true // one that failed may have taken hold all the same
		case e.Op == history.OpFaultAim && e.Value == 1:
			led[e.Fault] = true
		}
	}
	elections := 0
	epoch := since >> 32
	for i := range all.Entries {
		if e := all.Entries[i].Zxid >> 32; e > epoch {
			if epoch != 0 {
				elections++
			}
			epoch = e
		}
	}
	for _, fault := range slices.Sorted(maps.Keys(step)) {
		if led[fault] || elections > 0 {
			return []string{fmt.Sprintf("the clock of a server that can have led was set off (%s), and the leader's places the transactions", fault)}
		}
	}
	return nil
}

// contradictions collects where servers, or transactions, rule each other out.
func contradictions(log *check.ServerLog, all *txnlog.Ensemble) {
	for _, c := range all.Contradictions {
		log.Contradictions = append(log.Contradictions, check.Contradiction{Server: c.Servers[1], Session: history.SessionID(c.Records[1].Session),
			Zxid: c.Records[1].Zxid, Text: c.String()})
	}
	for _, o := range log.History.Oddities {
		log.Contradictions = append(log.Contradictions, check.Contradiction{Zxid: o.Zxid, Session: history.SessionID(o.Session), Path: o.Path, Text: "the servers' transactions do not fit: " + o.String()})
	}
}

// barrier is what a write through each server creates before its log is copied.
const barrier = "/locklab-ready-"

// readDumps looks for ephemeral znodes that a server had in the end though their
// session had been closed before the server committed the write that was its last.
func readDumps(dir string, log *check.ServerLog) {
	var settled []int64
	for _, l := range log.History.Lives {
		if strings.HasPrefix(l.Path, barrier) && l.Czxid != 0 {
			settled = append(settled, l.Czxid)
		}
	}
	slices.Sort(settled)
	if len(settled) == 0 {
		return
	}
	before := settled[max(0, len(settled)-len(log.Servers))]
	for _, server := range log.Servers {
		f, err := os.Open(filepath.Join(dir, hostsDir, server, dumpFile))
		if errors.Is(err, fs.ErrNotExist) {
			continue // it did not serve
		}
		if err != nil {
			log.Doubts = append(log.Doubts, err.Error())
			continue
		}
		for session, paths := range parseDump(f) {
			s := log.History.Sessions[session]
			if s == nil || s.Closed == 0 || s.Closed >= before {
				continue
			}
			for _, p := range paths {
				log.Contradictions = append(log.Contradictions, check.Contradiction{Server: server, Session: history.SessionID(session), Path: p, Zxid: s.Closed,
					Text: fmt.Sprintf("server %s has %s of session %s in the end, which was closed at zxid %s", server, p, history.SessionID(session), check.Zxid(s.Closed))})
			}
		}
		f.Close()
	}
}

// parseDump reads the ephemeral znodes by session from a server's answer to "dump".
func parseDump(f io.Reader) map[int64][]string {
	all := map[int64][]string{}
	var session int64
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if path, ok := strings.CutPrefix(line, "\t"); ok && strings.HasPrefix(path, "/") && session != 0 {
			all[session] = append(all[session], path)
			continue
		}
		session = 0
		if hex, ok := strings.CutSuffix(line, ":"); ok && strings.HasPrefix(hex, "0x") {
			id, err := strconv.ParseUint(hex, 0, 64)
			if err == nil {
				session = int64(id)
			}
		}
	}
	return all
}
