package runpage

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"locklab/reports/chart"
	"locklab/reports/doc"
	"locklab/reports/measure"
	"locklab/reports/result"
	"locklab/reports/timeline"
	"locklab/reports/words"
)

var phaseMeanings = map[string]string{
	measure.PhaseAcquire: "asked for the lock → got it",
	measure.PhaseArrival: "was due → a client asked for the lock",
	measure.PhaseService: "a client asked for the lock → got it",
	measure.PhaseEnqueue: "asked for the lock → had its place in the queue",
	measure.PhaseWait:    "had its place in the queue → got it",
	measure.PhaseHandoff: "previous holder began to release → next one, already queued, got it",
	measure.PhaseHold:    "got it → began to release",
	measure.PhaseRelease: "began to release → released",
}

// latencySection has the phases of an acquisition's life, and pictures of them.
func latencySection(in result.Input, pictures ...chart.Picture) section {
	r := &in.Result
	s := section{ID: "latency", Title: "Latency", Open: true}
	if a := r.Latency.Acquire; a.Count > 0 {
		s.Brief = fmt.Sprintf("acquire: median %s, p99 %s", duration(a.P50Ns), duration(a.P99Ns))
	}
	t := doc.NewTable("Each phase of an acquisition, in the measured window",
		"phase", "from → to", "#count", "#p50", "#p90", "#p99", "#p99.9", "#max")
	add := func(name, means string, l *measure.Latency) {
		if l != nil {
			t.Add(name, means, words.Grouped(l.Count), duration(l.P50Ns), duration(l.P90Ns),
				duration(l.P99Ns), duration(l.P999Ns), duration(l.MaxNs))
		}
	}
	for _, name := range measure.Phases {
		means := phaseMeanings[name]
		if name == measure.PhaseAcquire && in.Scenario.Open() {
			means = "was due → got it"
		}
		add(name, means, r.Latency.ByPhase(name))
	}
	add("resource in hold", "got it → began to release, less the work between read and write", r.Latency.HoldResource)
	add("acquire to read", "the same, to read", r.Latency.AcquireRead)
	add("acquire to write", "the same, to write", r.Latency.AcquireWrite)
	s.table(t)
	s.prose("latencies", r)
	for _, p := range pictures {
		s.picture(p)
	}
	return s
}

// throughputSection has the grants per second.
func throughputSection(in result.Input, picture chart.Picture) section {
	s := section{ID: "throughput", Title: "Throughput", Open: true,
		Brief: real(in.Result.Throughput.AcquiredPerS) + " acquisitions per second"}
	s.picture(picture)
	return s
}

// serverColumns are what the table of servers shows of their counters, as mntr names them; all are milliseconds but the
// last.
var serverColumns = [...]struct{ name, counter string }{
	{"#fsync, mean", "zk_avg_fsynctime"}, {"#fsync, max", "zk_max_fsynctime"},
	{"#quorum’s answer, mean", "zk_avg_quorum_ack_latency"}, {"#max", "zk_max_quorum_ack_latency"},
	{"#proposal to commit, mean", "zk_avg_commit_propagation_latency"}, {"#election, max", "zk_max_election_time"},
	{"#elections", "zk_cnt_election_time"},
}

// serversSection has the servers' own counters at the end of the run.
func serversSection(in result.Input) section {
	r := &in.Result
	s := section{ID: "servers", Title: "Servers", Brief: fmt.Sprintf("%s requests per acquisition, %s watches per release",
		real(r.Server.RequestsPerAcquire), real(r.Server.WatchesFiredPerRelease))}
	names := []string{"server"}
	for _, c := range serverColumns {
		names = append(names, c.name)
	}
	t := doc.NewTable("The servers’ counters at the end of the run, since each server was started; times are in "+
		"milliseconds", names...)
	for _, server := range slices.SortedFunc(maps.Keys(in.CountersAtEnd), measure.CompareNatural) {
		row := []string{server}
		for _, c := range serverColumns {
			v, known := in.CountersAtEnd[server][c.counter]
			if !known {
				row = append(row, words.Absent)
				continue
			}
			row = append(row, words.Digits3(v))
		}
		t.Add(row...)
	}
	s.table(t)
	if len(t.Rows) == 0 {
		s.note("The servers’ counters were not read.")
	}
	s.note("Only the leader waits for a quorum’s answer. A server that stores on tmpfs has an fsync of 0.")
	return s
}

// hiccupsSection says how much the machine adds to what is measured on it.
func hiccupsSection(in result.Input) section {
	s := section{ID: "hiccups", Title: "Hiccups of the machine", Brief: "not measured"}
	h := in.Result.Hiccups
	if h == nil {
		s.note("Hiccups of the machine were not measured.")
		return s
	}
	s.Brief = "p99 " + duration(h.P99Ns)
	s.prose("hiccups", h)
	t := doc.NewTable("By how much sleeps of each process took too long; the harness measures no latency",
		"process", "#sleeps", "#p50", "#p99", "#max")
	for _, name := range slices.SortedFunc(maps.Keys(h.Processes), measure.CompareNatural) {
		p := h.Processes[name]
		t.Add(name, words.Grouped(p.Samples), duration(p.P50Ns), duration(p.P99Ns), duration(p.MaxNs))
	}
	s.table(t)
	return s
}

// keySection has all key numbers; the first screen has three.
func keySection(all []keyNumber) section {
	s := section{ID: "numbers", Title: "Key numbers"}
	t := doc.NewTable("Key numbers of the run", "number", "#value")
	for _, n := range all {
		t.Add(n.Label, n.Value)
	}
	s.table(t)
	return s
}

const (
	toldHolds   = 40 // rows of the table of one timeline
	holdsBefore = 10 // rows before what a timeline is about, if there are too many
)

// holdsSection has the holds of the timelines as tables, for readers who do not see the pictures or have no script.
func holdsSection(all []timeline.Timeline) section {
	s := section{ID: "holds", Title: "Holds in words"}
	var listed, n int
	for i := range all {
		if t := &all[i]; t.Overview == nil {
			rows, held := holdsTable(t)
			s.table(rows)
			listed, n = listed+len(rows.Rows), n+held
		}
	}
	if n == 0 {
		s.Brief = "none"
		s.note("No timeline has a hold in it.")
		return s
	}
	s.Brief = words.Count(int64(n), "hold")
	if listed < n {
		s.Brief = fmt.Sprintf("%d of %s", listed, words.Count(int64(n), "hold"))
	}
	return s
}

// A heldBy is a hold in a client's row.
type heldBy struct {
	*timeline.Hold
	lane *timeline.Lane
}

// holdsTable has the holds of a timeline in the order in which they began, and says how many there are. If there are
// too many, it leaves out the earliest and the latest.
func holdsTable(t *timeline.Timeline) (rows *doc.Table, n int) {
	var all []heldBy
	for i := range t.Lanes {
		l := &t.Lanes[i]
		for _, held := range [][]timeline.Hold{l.Holds, l.Reads} {
			for k := range held {
				if held[k].Overlaps(t.Span) {
					all = append(all, heldBy{&held[k], l})
				}
			}
		}
	}
	slices.SortStableFunc(all, func(a, b heldBy) int { return cmp.Compare(a.From, b.From) })
	first, _ := slices.BinarySearchFunc(all, t.Anchor(), func(h heldBy, at int64) int { return cmp.Compare(h.From, at) })
	first = max(0, min(first-holdsBefore, len(all)-toldHolds))
	shown := all[first:min(first+toldHolds, len(all))]
	caption := t.Title
	if left := len(all) - len(shown); left > 0 {
		caption += fmt.Sprintf(" (%s left out: %d before, %d after these)", words.Count(int64(left), "hold"), first,
			left-first)
	}
	rows = doc.NewTable(caption, "client", "#from", "#to", "#lasted", "#while another believed", "what is known of it")
	for _, h := range shown {
		other := "–"
		if both := h.lane.Double.Within(h.From, h.Until); both > 0 {
			other = words.Duration(both)
		}
		rows.Add(h.lane.Client, words.Instant(h.From), words.Instant(h.Until), words.Duration(h.Lasts()), other, h.Details())
	}
	return rows, len(all)
}
