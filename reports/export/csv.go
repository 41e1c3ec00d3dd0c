package export

import (
	"encoding/csv"
	"io"
	"slices"
	"strconv"
	"strings"

	"locklab/harness/history"
	"locklab/reports/measure"
	"locklab/reports/result"
)

var csvFormat = Format{Name: "csv", Has: "grants, failures, waits, holds, latencies and faults of each second",
	For:    "spreadsheets, data frames",
	Reader: "Go’s encoding/csv", write: writeCSV}

// csvHeader names the columns. Counts are of the second; waiting and holding are at its end.
var csvHeader = []string{"second", "phase", "granted", "timed_out_or_failed", "waiting", "holding", "acquire_p50_s",
	"acquire_p99_s", "acquire_max_s", "faults"}

// A secondRow is what happened in one second of a run.
type secondRow struct {
	granted, failed int
	waiting         int     // change of how many wait
	holding         int     // change of how many hold
	waits           []int64 // of the grants, ns
}

// writeCSV writes a row for each second of the run. A percentile is empty where the second has too few grants for it.
func writeCSV(w io.Writer, in result.Input) error {
	end := in.Events.End()
	rows := make([]secondRow, max(end, 0)/1e9+1)
	at := func(t int64) *secondRow { return &rows[min(max(t, 0), max(end, 0))/1e9] }
	for i := range in.Acquisitions {
		a := &in.Acquisitions[i]
		at(a.Invoked).waiting++
		if a.Returned == history.None {
			continue
		}
		row := at(a.Returned)
		row.waiting--
		if !a.Granted() {
			row.failed++
			continue
		}
		row.granted++
		row.holding++
		row.waits = append(row.waits, a.Latency())
		if until := a.BelievedUntil(end); until < end {
			at(until).holding--
		}
	}
	out := csv.NewWriter(w)
	if err := out.Write(csvHeader); err != nil {
		return err
	}
	marks, faults := measure.PhaseMarks(in.Events), measure.FaultSpans(in.Events)
	waiting, holding := 0, 0
	for n := range rows {
		r := &rows[n]
		waiting, holding = waiting+r.waiting, holding+r.holding
		from, to := int64(n)*1e9, int64(n+1)*1e9
		phase := ""
		for _, m := range marks {
			if m.At < to {
				phase = m.Name
			}
		}
		var active []string
		for _, f := range faults {
			if f.From < to && f.Until > from {
				active = append(active, f.Label())
			}
		}
		slices.Sort(r.waits)
		line := []string{strconv.Itoa(n), phase, strconv.Itoa(r.granted), strconv.Itoa(r.failed), strconv.Itoa(waiting),
			strconv.Itoa(holding), percentile(r.waits, 50, 2), percentile(r.waits, 99, 100), percentile(r.waits, 100, 1),
			cell(strings.Join(active, "; "))}
		if err := out.Write(line); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// percentile is a percentile of sorted times in ns, in seconds; empty if there are fewer than least.
func percentile(sorted []int64, p, least int) string {
	if len(sorted) < least {
		return ""
	}
	i := max((len(sorted)*p+99)/100-1, 0)
	return strconv.FormatFloat(float64(sorted[i])/1e9, 'f', -1, 64)
}

// cell makes a text of a cell that a spreadsheet would take for a formula. Such a text begins with one of these
// characters, and an apostrophe before it says that it is only text.
func cell(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r\n＝＋－＠", []rune(text)[0]) {
		return "'" + text
	}
	return text
}
