package reports

import (
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"locklab/harness/check"
)

//go:embed report.html.tmpl
var pageText string

var page = template.Must(template.New("report").Funcs(template.FuncMap{
	"dur": func(ns *int64) string {
		if ns == nil {
			return absent
		}
		return duration(*ns)
	},
	"at": func(ns *int64) string {
		if ns == nil {
			return absent
		}
		return strconv.FormatFloat(seconds(*ns), 'f', 3, 64) + " s"
	},
	"num": func(n *int64) string {
		if n == nil {
			return absent
		}
		return grouped(*n)
	},
	"real": func(v *float64) string {
		if v == nil {
			return absent
		}
		return digits3(*v)
	},
	"grouped": grouped,
	"plain":   plainName,
	"yes": func(b bool) string {
		if b {
			return "yes"
		}
		return "no"
	},
	"or": func(s, otherwise string) string {
		if s == "" {
			return otherwise
		}
		return s
	},
}).Parse(pageText))

// absent is what a number that was not measured looks like.
const absent = "n/a"

// shownFindings is how many findings of a check the page shows; verdicts.json
// has what the check kept.
const shownFindings = 8

type pageView struct {
	Input
	Pictures []pagePicture
	Missing  []picture
	Evidence []evidence
	Phases   []phaseRow
	Facts    [][2]string
	Window   string
	Empty    bool
}

type pagePicture struct {
	Name, Caption string
	URL           template.URL
}

type evidence struct {
	Check check.Verdict
	Shown []check.Finding
	More  int64
}

type phaseRow struct {
	Name, Means string
	Latency
}

var phaseMeanings = map[string]string{
	PhaseAcquire: "asked for the lock → got it",
	PhaseArrival: "was due → a client asked for the lock",
	PhaseService: "a client asked for the lock → got it",
	PhaseEnqueue: "asked for the lock → had its place in the queue",
	PhaseWait:    "had its place in the queue → got it",
	PhaseHandoff: "previous holder began to release → next one, already queued, got it",
	PhaseHold:    "got it → began to release",
	PhaseRelease: "began to release → released",
}

// writePage writes report.html.
func writePage(w io.Writer, in Input, drawn []picture) error {
	v := pageView{Input: in, Empty: in.Result.Operations.AcquiredInRun == 0}
	for _, p := range drawn {
		if p.PNG == nil {
			v.Missing = append(v.Missing, p)
			continue
		}
		v.Pictures = append(v.Pictures, pagePicture{p.Name, p.Caption, dataURL(p.PNG)})
	}
	for _, c := range in.Report.Checks {
		if len(c.Findings) > 0 {
			shown := c.Findings[:min(len(c.Findings), shownFindings)]
			v.Evidence = append(v.Evidence, evidence{c, shown, max(int64(len(c.Findings)), c.Count) - int64(len(shown))})
		}
	}
	for _, name := range phases {
		means := phaseMeanings[name]
		if name == PhaseAcquire && !in.Meta.ClosedLoop {
			means = "was due → got it"
		}
		if l := in.Result.Latency.ByPhase(name); l != nil {
			v.Phases = append(v.Phases, phaseRow{name, means, *l})
		}
	}
	for _, part := range []phaseRow{{Name: acquireRead, Means: "the same, to read"}, {Name: acquireWrite, Means: "the same, to write"}} {
		if l := *in.Result.Latency.part(part.Name); l != nil {
			v.Phases = append(v.Phases, phaseRow{strings.ReplaceAll(part.Name, "_", " to "), part.Means, *l})
		}
	}
	if win := measuredWindow(in.Events); win.Measured {
		v.Window = fmt.Sprintf("%s, from %.3f s to %.3f s of the run", duration(win.To-win.From), seconds(win.From), seconds(win.To))
	}
	v.Facts = environment(in.Meta)
	if err := page.Execute(w, v); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}

// environment lists what the run ran on, known things only.
func environment(m Meta) [][2]string {
	var all [][2]string
	add := func(known bool, name, value string) {
		if known {
			all = append(all, [2]string{name, value})
		}
	}
	add(m.Lab != "", "lab", m.Lab)
	add(m.ZooKeeper != "", "ZooKeeper", m.ZooKeeper)
	add(m.Servers > 0, "servers", strconv.Itoa(m.Servers))
	add(m.Storage != "", "servers’ storage", m.Storage)
	add(m.Tick > 0, "tick", duration(int64(m.Tick)))
	add(m.SessionTimeout > 0, "session timeout", duration(int64(m.SessionTimeout)))
	add(m.Clients > 0, "clients", fmt.Sprintf("%d in %d processes", m.Clients, m.Processes))
	add(m.Locks > 0, "locks", strconv.Itoa(m.Locks))
	add(m.Hold > 0, "planned hold", duration(int64(m.Hold)))
	add(m.Think > 0, "planned pause between acquisitions", duration(int64(m.Think)))
	for _, l := range m.Load {
		add(true, l[0], l[1])
	}
	add(m.Workload != "", "workload", m.Workload)
	add(m.Recipe != "", "recipe", m.Recipe)
	add(m.Guard != "", "guard", m.Guard)
	for _, lock := range slices.Sorted(maps.Keys(m.FinalValues)) {
		add(true, "final value of "+lock, grouped(m.FinalValues[lock]))
	}
	for _, name := range slices.Sorted(maps.Keys(m.Environment)) {
		add(true, name, m.Environment[name])
	}
	return all
}

// dataURL makes a picture part of a page. Pages carry pixels rather than
// vectors: the text of an SVG is set in whatever font the reader has, and where
// that is wider than ours, labels run into each other.
func dataURL(png []byte) template.URL {
	return template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(png))
}
