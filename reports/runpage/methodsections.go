package runpage

import (
	"fmt"
	"strings"

	"locklab/harness/history"
	"locklab/reports/chart"
	"locklab/reports/doc"
	"locklab/reports/measure"
	"locklab/reports/result"
	"locklab/reports/words"
)

// methodSection says how the numbers came about.
func methodSection(in result.Input, w measure.Interval) section {
	s := section{ID: "method", Title: "How this was measured"}
	var all []string
	if in.Scenario.Open() {
		all = append(all, fmt.Sprintf("Open loop (%s arrivals): acquisitions are due whether or not a client is idle. "+
			"Acquire "+
			"counts from when an acquisition was due, and service from when a client asked for the lock. %s of %s a second "+
			"were "+
			"dropped because no client was idle; they are in no latency.", in.Scenario.Arrivals,
			number(in.Result.Throughput.Dropped), real(in.Result.Throughput.OfferedPerS)))
	} else {
		all = append(all, "Closed loop: each client asks again only when its last acquisition has ended, so a slow lock "+
			"also "+
			"slows down the load. An independent stream of callers may wait longer than these clients did.")
	}
	window := "the run never reached it"
	if w.Measured {
		window = fmt.Sprintf("%s, from %s to %s of the run", words.Duration(w.To-w.From), words.Instant(w.From),
			words.Instant(w.To))
	}
	all = append(all, "Measured window: "+window+". Only acquisitions that were asked for in it have latencies, not "+
		"those of "+
		"warm-up and drain. The safety checks judge the whole run.")
	if d := in.Result.Drain; d != "" {
		all = append(all, "Clients that still waited at the window’s end: policy “"+d+"”. Their waits are counted as "+
			"censored, "+
			"not left out.")
	}
	all = append(all, "Throughput is the grants in the window divided by its wall time.",
		clockSentence(in.Result.Clocks)+" Percentiles come from an HdrHistogram of three digits; "+
			"maxima are exact.")
	s.Parts = append(s.Parts, part{List: all})
	return s
}

// clockSentence says which clock the times are of.
func clockSentence(others []history.Uncertainty) string {
	if len(others) == 0 {
		return "All hosts share one kernel, and so one monotonic clock."
	}
	var parts []string
	for _, c := range others {
		parts = append(parts, fmt.Sprintf("%s to %s", strings.Join(c.Hosts, ", "), words.Duration(c.Err)))
	}
	return "Times are of the harness’s monotonic clock, on which those of other machines were placed: " +
		strings.Join(parts, "; ") + ". Overlaps, hand-offs and order that are shorter are unknown or left out."
}

// warningsSection lists what a reader must know about the run.
func warningsSection(in result.Input) section {
	all := in.Result.Warnings
	s := section{ID: "warnings", Title: "Warnings", Open: len(all) > 0, Brief: "none"}
	if len(all) == 0 {
		s.note("None.")
		return s
	}
	s.Brief = fmt.Sprint(len(all))
	s.Parts = append(s.Parts, part{List: all})
	return s
}

// environmentSection lists the environment and the settings.
func environmentSection(in result.Input) section {
	s := section{ID: "environment", Title: "Environment"}
	t := doc.NewTable("Environment and settings of the run", "setting", "value")
	var brief []string
	for _, f := range Environment(in.Run.Scenario, in.Run.Env) {
		t.Add(f[0], f[1])
		if f[0] == "lab" || f[0] == "servers’ storage" {
			brief = append(brief, f[1])
		}
		if f[0] == "ZooKeeper" {
			brief = append(brief, "ZooKeeper "+f[1])
		}
	}
	s.table(t)
	s.Brief = strings.Join(brief, ", ")
	return s
}

// reproduceSection says how to run the same again.
func reproduceSection(in result.Input) section {
	s := section{ID: "reproduce", Title: "How to reproduce", Brief: fmt.Sprintf("seed %d", in.Result.Seed)}
	t := doc.NewTable("Commands, to be given in this run’s directory", "what for", "command")
	for _, c := range [][2]string{{"run the same plan again", "locklab run ./scenario.yaml"},
		{"judge this run again, without a lab", "locklab check ."}, {"draw this page again", "locklab report ."}} {
		t.Add(c[0], c[1])[1].Class = "code"
	}
	s.table(t)
	version := in.Env.Locklab
	if version == "" {
		version = "of an unknown revision"
	}
	s.note(fmt.Sprintf("scenario.yaml has every setting and the seed %d, which reproduces the plan (the random holds, "+
		"pauses "+
		"and faults), not the interleaving. The run was made by locklab %s.", in.Result.Seed, version))
	return s
}

// partialNote says first of all that a run is not whole; "" if it is.
func partialNote(in result.Input) string {
	if !in.Result.Partial {
		return ""
	}
	how := "broke off"
	end, ended := in.Events.First(history.OpEnd)
	switch {
	case in.Interrupted:
		how = "was interrupted"
	case ended && end.Ending() == history.EndSpared:
		how = "ended itself"
	case ended && end.Ending() == history.EndUnserved:
		how = "ended itself, because servers that were up did not serve,"
	}
	return "This report is of a partial run: it " + how + " before its planned end. Everything below describes the part " +
		"that was recorded, until " + fmt.Sprintf("%.3f s", chart.Seconds(in.Events.End())) + "."
}
