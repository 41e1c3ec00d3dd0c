package rundir

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"locklab/ensembles/txnlog"
	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/history"
	"locklab/harness/scenario"
)

// Logs of which none, or only a part, was copied are missing. A run that never asked for logs has none at all.
func TestMissingServerLogs(t *testing.T) {
	sc, err := scenario.Load("test.yaml", []byte("servers: 1"))
	if err != nil {
		t.Fatal(err)
	}
	events := []history.Event{{Op: history.OpServerLog, Value: 5, Target: "zk1"},
		{Op: history.OpServerLog, Kind: history.OK, Target: "zk1"}}
	if log := readServerLog(t.TempDir(), sc, history.NewLog(nil)); log != nil {
		t.Errorf("of a run that asked for none: %+v", log)
	}
	if log := readServerLog(t.TempDir(), sc, history.NewLog(events)); log == nil || log.Missing == "" {
		t.Errorf("of a run that has none: %+v", log)
	}
	failed := append(slices.Clone(events),
		history.Event{Op: history.OpServerLog, Kind: history.Fail, Target: "zk1", Detail: "no agent"})
	log := readServerLog(t.TempDir(), sc, history.NewLog(failed))
	if log == nil || !strings.Contains(log.Missing, "no agent") {
		t.Errorf("of a run that could not copy it: %+v", log)
	}
	partial := t.TempDir()
	if err := os.MkdirAll(TxnLogDir(partial, "zk1"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(TxnLogDir(partial, "zk1"), "log.6"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	log = readServerLog(partial, sc, history.NewLog(failed))
	if log == nil || !strings.Contains(log.Missing, "no agent") {
		t.Errorf("of a run that copied a part of it: %+v", log)
	}
}

// A session with which a client got a lock and that begins in no log is local. Of what a lab's own servers logged,
// nothing of the kind is said.
func TestLocalSessions(t *testing.T) {
	h := nodes.NewHistory()
	h.Add(&txnlog.Txn{Zxid: 10, Session: 1, Type: txnlog.CreateSession})
	h.Add(&txnlog.Txn{Zxid: 11, Session: 2, Type: txnlog.CreateSession})
	h.Add(&txnlog.Txn{Zxid: 20, Session: 3, Type: txnlog.CloseSession})
	got := func(client string, session, token int64) history.Event {
		return history.Event{Op: history.OpAcquire, Kind: history.OK, Client: client, Lock: "l",
			Session: history.SessionID(session), Token: token}
	}
	for _, c := range []struct {
		name, connect string
		events        []history.Event
		want          string
	}{
		{"all begin in the log", "a:1", []history.Event{got("c1/0", 1, 12), got("c1/1", 2, 13)}, ""},
		{"one does not", "a:1", []history.Event{got("c1/0", 1, 12), got("c1/1", 7, 13)}, "session 0x7 of c1/1,"},
		{"of one, only the end is there", "a:1", []history.Event{got("c1/1", 3, 13)}, "session 0x3 of c1/1,"},
		{"two do not", "a:1", []history.Event{got("c1/0", 8, 12), got("c1/1", 7, 13)}, "and so does one other"},
		{"a grant after the log's end", "a:1", []history.Event{got("c1/1", 7, 21)}, ""},
		{"a lab's own servers", "", []history.Event{got("c1/1", 7, 13)}, ""},
	} {
		sc := scenario.Defaults()
		sc.Connect = c.connect
		why := localSessions(sc, history.NewLog(c.events), h)
		if (why == "") != (c.want == "") || !strings.Contains(why, c.want) {
			t.Errorf("%s: %q", c.name, why)
		}
	}
}

// nextEpoch is what a new leader adds to zxids.
const nextEpoch = int64(1) << 32

// committed returns committed transactions with these zxids.
func committed(zxids ...int64) []txnlog.Entry {
	var all []txnlog.Entry
	for _, z := range zxids {
		all = append(all, txnlog.Entry{Record: txnlog.Record{Txn: txnlog.Txn{Zxid: z}}, Fate: txnlog.Committed})
	}
	return all
}

// at gives transactions their times.
func at(all []txnlog.Entry, ms ...int64) []txnlog.Entry {
	for i, t := range ms {
		all[i].Time = t
	}
	return all
}

// surveyed returns a survey that has noted all transactions.
func surveyed(all []txnlog.Entry, since, ended int64) *survey {
	s := &survey{since: since, ended: ended}
	for i := range all {
		s.note(&all[i])
	}
	return s
}

// Gaps in the numbers of transactions, and transactions of an unknown fate, are doubts.
func TestSurveyCompleteness(t *testing.T) {
	const next = nextEpoch
	for _, c := range []struct {
		all    []txnlog.Entry
		since  int64
		doubts int
	}{
		{committed(), 5, 1}, {committed(6, 7, 8), 5, 0}, {committed(4, 5, 6), 5, 0}, {committed(7, 8), 5, 1},
		{committed(6, 8), 5, 1}, {committed(6, next+1, next+2), 5, 0}, {committed(next+1, next+2), 5, 0},
		{committed(6, 7), 0, 1}, {committed(1, 2), 0, 0}, {committed(next + 1), 0, 0}, {committed(6, next+2), 5, 1},
		{committed(next+3, next+4), 5, 1},
	} {
		if got := surveyed(c.all, c.since, 0).completeness(&txnlog.Ensemble{}); len(got) != c.doubts {
			t.Errorf("%v since %d: %q", c.all, c.since, got)
		}
	}
	undecided := committed(6, 7)
	undecided[1].Fate = txnlog.Undecided
	if got := surveyed(undecided, 5, 0).completeness(&txnlog.Ensemble{Others: undecided[1:]}); len(got) != 1 {
		t.Errorf("undecided: %q", got)
	}
}

// A leader's clock that goes back or is ahead is a doubt, but not within a tenth of a second.
func TestSurveyTimes(t *testing.T) {
	for _, c := range []struct {
		ms     []int64
		doubts int
	}{
		{[]int64{1000, 1000, 2000}, 0}, {[]int64{1000, 950, 2000}, 0}, {[]int64{1000, 899, 2000}, 1},
		{[]int64{1000, 2000, 2101}, 1}, {[]int64{3_600_000, 1000, 1000}, 2},
	} {
		if got := surveyed(at(committed(6, 7, 8), c.ms...), 5, 2000).times(); len(got) != c.doubts {
			t.Errorf("times %v: %q", c.ms, got)
		}
	}
	// A follower whose clock is an hour behind becomes the leader.
	behind := at(committed(6, nextEpoch+1, nextEpoch+2), 3_600_000, 1000, 1000)
	if got := surveyed(behind, 6, 3_600_000).times(); len(got) != 0 {
		t.Errorf("transactions from before the run: %q", got)
	}
	if got := surveyed(behind, 5, 3_600_000).times(); len(got) != 1 {
		t.Errorf("a leader an hour behind the one before: %q", got)
	}
	behind[0].Fate = txnlog.Uncommitted
	if got := surveyed(behind, 5, 3_600_000).times(); len(got) != 0 {
		t.Errorf("a transaction that a leader prepared while it was cut off: %q", got)
	}
}

// A stepped clock is a doubt if it can have been a leader's.
func TestSurveySteppedClocks(t *testing.T) {
	one := committed(nextEpoch+6, nextEpoch+7)
	two := committed(nextEpoch+6, nextEpoch+7, 2*nextEpoch+1)
	step := func(op history.Op, kind history.Kind, value int64) history.Event {
		return history.Event{Op: op, Kind: kind, Value: value, Mode: "clock-step", Fault: "f1"}
	}
	asked, done := step(history.OpFaultInject, history.Invoke, 0), step(history.OpFaultInject, history.OK, 0)
	leads, follows := step(history.OpFaultAim, history.Info, 1), step(history.OpFaultAim, history.Info, 0)
	missed := step(history.OpFaultMissed, history.Fail, 0)
	for _, c := range []struct {
		name   string
		all    []txnlog.Entry
		events []history.Event
		doubts int
	}{
		{"a follower, and no election since", one, []history.Event{asked, follows, done}, 0},
		{"the leader", one, []history.Event{asked, leads, done}, 1},
		{"a follower that may lead since an election", two, []history.Event{asked, follows, done}, 1},
		{"a fault that missed", two, []history.Event{asked, leads, missed}, 0},
		{"an election and no step", two, nil, 0},
	} {
		for _, since := range []int64{0, nextEpoch + 5} {
			if got := surveyed(c.all, since, 0).steppedClocks(history.NewLog(c.events)); len(got) != c.doubts {
				t.Errorf("%s, since %d: %q", c.name, since, got)
			}
		}
	}
}
