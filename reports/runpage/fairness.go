package runpage

import (
	"fmt"
	"slices"

	"locklab/reports/chart"
	"locklab/reports/doc"
	"locklab/reports/measure"
	"locklab/reports/result"
	"locklab/reports/words"
)

// mostShares is the most clients that the table of fairness lists.
const mostShares = 24

// A clientShare is the part of the lock that a client got in the measured window.
type clientShare struct {
	measure.Tally
	Held            int64  // for how long it had a lock, in ns
	Waits           int64  // waits that ended with a grant
	Median, Longest *int64 // of these waits, in ns; nil without one
	Bypassed        *int64 // the most grants that went past one of its waits; nil if that is not known
}

// clientShares returns the part of each client, the most grants first.
func clientShares(in result.Input) []clientShare {
	w, waits := in.Window, map[string][]int64{}
	for i := range in.Acquisitions {
		if a := &in.Acquisitions[i]; a.Granted() && w.Contains(a.Asked()) {
			waits[a.Client] = append(waits[a.Client], a.Latency())
		}
	}
	var bypassed map[string]int64
	if most := in.Result.Fairness.MaxBypass; most != nil && *most > 0 { // else there is nothing to count
		bypassed = measure.Bypasses(in.Acquisitions, w)
	}
	held := measure.HeldTimes(in.Acquisitions, w)
	var all []clientShare
	for _, tally := range measure.Tallies(in.Acquisitions, w) {
		s := clientShare{Tally: tally, Held: held[tally.Client]}
		if own := waits[tally.Client]; len(own) > 0 {
			slices.Sort(own)
			s.Waits, s.Median, s.Longest = int64(len(own)), &own[(len(own)-1)/2], &own[len(own)-1]
		}
		if n, known := bypassed[tally.Client]; known {
			s.Bypassed = &n
		}
		all = append(all, s)
	}
	return all
}

// fairnessSection says how evenly the lock was granted.
func fairnessSection(in result.Input, all []clientShare, pictures ...chart.Picture) section {
	s := section{ID: "fairness", Title: "Fairness and cost", Brief: evenly(all)}
	for _, p := range pictures {
		s.Open = s.Open || p.Element != ""
		s.picture(p)
	}
	t := doc.NewTable("Fairness, and what an acquisition costs the servers", "number", "#value", "meaning")
	for _, n := range numbers(&in.Result, func(q result.Quantity) string { return q.Row }) {
		t.Add(n.Label, n.Value, n.Means)
	}
	s.table(t)
	s.table(sharesTable(all))
	return s
}

// evenly says whether all clients got as many grants, as far as turns can be equal.
func evenly(all []clientShare) string {
	if len(all) == 0 {
		return "nothing was granted"
	}
	most, least := all[0].Grants, all[len(all)-1].Grants
	switch {
	case most == 0:
		return "nothing was granted"
	case most == least:
		return fmt.Sprintf("each of %d clients got %s", len(all), words.Count(most, "grant"))
	}
	return fmt.Sprintf("each of %d clients got %s to %s grants", len(all), words.Grouped(least), words.Grouped(most))
}

// sharesTable has the grants, the time with a lock and the waits of each client, and its bypasses if there were any.
func sharesTable(all []clientShare) *doc.Table {
	columns := []string{"client", "#grants", "#held", "#median wait", "#longest wait"}
	passed := slices.ContainsFunc(all, func(s clientShare) bool { return s.Bypassed != nil })
	caption := "Grants, time with the lock and waits of each client in the window, most grants first"
	if passed {
		columns = append(columns, "#most bypasses")
		caption += "; a bypass is a grant to a client that asked after this one had its place in the queue, " +
			"counted for the wait with the most"
	}
	t := doc.NewTable(caption, columns...)
	for i := range all[:min(len(all), mostShares)] {
		s := &all[i]
		row := []string{s.Client, words.Grouped(s.Grants), words.Duration(s.Held), duration(s.Median), duration(s.Longest)}
		if passed {
			row = append(row, number(s.Bypassed))
		}
		t.Add(row...)
	}
	if len(all) > mostShares {
		t.Caption += fmt.Sprintf(" (the first %d of %d)", mostShares, len(all))
	}
	return t
}
