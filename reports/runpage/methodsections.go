package runpage

import (
	"fmt"
	"strings"

	"locklab/harness/history"
	"locklab/reports/chart"
	"locklab/reports/doc"
	"locklab/reports/result"
)

// methodSection says how the numbers came about.
func methodSection(in result.Input) section {
	return section{ID: "method", Title: "How this was measured", Parts: []part{{List: texts.Lines("method", in)}}}
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
	s.prose("reproduce", in)
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
