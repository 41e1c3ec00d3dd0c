package timeline

import (
	"fmt"
	"strconv"

	"locklab/harness/history"
	"locklab/reports/chart"
	"locklab/reports/words"
)

// Figures draws the timelines of a run. Pictures that an earlier report may have had and that are no longer drawn are
// among them, so that they are removed.
func (ts *Timelines) Figures() (all []chart.Figure) {
	drawn := map[string]bool{}
	for i := range ts.All {
		all = append(all, ts.All[i].Figure())
		drawn[ts.All[i].File] = true
	}
	for n := range maxParts + 2 {
		f := chart.Figure{Name: partName(n)}
		switch n {
		case 0:
			f = chart.Figure{Name: Name, Absent: "No client got a lock."}
		case maxParts + 1:
			f.Name = OverviewName
		}
		if !drawn[f.Name] {
			all = append(all, f)
		}
	}
	return all
}

// Figure draws a timeline to scale, one row per client.
func (t *Timeline) Figure() chart.Figure {
	d := timelineDrawing{Timeline: *t}
	d.layout()
	micros := func(ns int64) string { return strconv.FormatInt(ns/1e3, 10) }
	return chart.Figure{Name: t.File, Title: t.Title, Caption: t.caption(), Height: d.height(), Draw: d.draw,
		Attributes: []chart.Attribute{{Name: "data-from", Value: micros(t.From)}, {Name: "data-to", Value: micros(t.Until)},
			{Name: "data-left", Value: strconv.Itoa(int(d.left))}, {Name: "data-right", Value: strconv.Itoa(int(d.right))},
			{Name: "data-base", Value: strconv.Itoa(int(d.height() - d.bottom()))}, {Name: "data-lock", Value: t.Lock}}}
}

// caption says how to read the timeline.
func (t *Timeline) caption() string {
	if t.Overview != nil {
		s := "To scale. Each row is a client, the stronger the more of the time it held a lock. Shaded: a fault was active."
		if longest := t.Overview.longestGap(); longest != "" {
			s += " The longest time in which no client got a lock, though one waited, was " + longest + "."
		} else {
			s += " Clients got locks throughout."
		}
		return s
	}
	if t.part > 1 { // the first one says how to read it
		return fmt.Sprintf("From %s to %s of the run, on %s.", words.Instant(t.From), words.Instant(t.Until), t.Lock)
	}
	holds := "solid while it believes it holds it, red while another one believes so too"
	switch {
	case t.Modes[history.ModeRead]:
		holds = "solid while it believes it holds it, lower if only to read, red while a client that it excludes believes " +
			"so too"
	case t.Modes[history.ModePermit]:
		holds = "solid while it believes it has a permit, red where more are believed held than there are: the newest, and " +
			"one that should have gone"
	}
	s := "To scale. Each row is a client: pale while it waits for the lock, " + holds + "."
	switch {
	case t.HeldErr > 0:
		s += " “Held at the servers” is what their transaction logs say, by when the leader prepared each transaction, to " +
			"within " + words.Duration(t.HeldErr) + " either way."
	case t.Held != nil:
		s += " “Held at the servers” is what a watching client was told, a little late."
	}
	switch {
	case t.Accesses == nil:
	case t.Kept:
		s += " What the lock protects is in ZooKeeper; its row has every access when its client learned the outcome."
	default:
		s += " The resource’s row has every access."
	}
	if t.dense() {
		s += " Holds too short to see are drawn a point wide, and of several on the same spot the first."
	}
	return s
}

// dense reports whether a timeline has so many holds that it leaves out those that nobody could see.
func (t *Timeline) dense() bool {
	n := 0
	for i := range t.Lanes {
		n += len(t.Lanes[i].Holds) + len(t.Lanes[i].Reads)
	}
	return n > mostHolds
}

// mostHolds is the most holds of a timeline that are all drawn, each as an element of its own.
const mostHolds = 1200
