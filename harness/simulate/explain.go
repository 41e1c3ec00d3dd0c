package simulate

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"locklab/harness/check/evidence"
	"locklab/workloads/guard"
	"locklab/workloads/lock"
)

// An Explained run is told in words, for somebody who has never seen a session expire.
type Explained struct {
	About  string             `json:"about"`
	Steps  []Step             `json:"steps"`
	Checks []evidence.Verdict `json:"checks"` // those that judged the run
}

// A lesson is what a step means. It is told beside the first step that has these words.
type lesson struct{ words, says string }

// lessons are those of all runs.
var lessons = []lesson{
	{"gets a session",
		"A client has its lock by its session, which lasts as long as the servers hear from it this often."},
	{"'s znode", "The znode with the lowest number has the lock. It is ephemeral: it goes when its session ends."},
	{"is granted", "Each grant has a higher token, by which a resource can tell the requests of earlier holders."},
	{"waits behind", "It watches the znode before its own, and asks for nothing more until that is gone."},
	{"is paused", "As in a long garbage collection: its code and its timers stand still, and its session sends no pings."},
	{"the servers expire",
		"The servers cannot tell a client that stands still from a dead one, and the lock is to go on."},
	{"has expired", "Only a server can tell it, and now it is connected to one again."},
}

// An example is a small run of mutex with two clients, of which c1 is paused while it holds the lock.
type example struct {
	name, about string
	guard       string
	pause       time.Duration
	lessons     []lesson
}

var examples = []example{
	{"short-pause", "The holder of a lock stands still, but for less time than its session lasts.", guard.None,
		time.Second, []lesson{{"c1 goes on", "Its session has not ended, so it still holds the lock. c2 waits longer."}}},
	{"paused-holder", "The holder of a lock stands still for longer than its session lasts.", guard.None, 12 * time.Second,
		outlived},
	{"fenced-holder", "The same, but the resource looks at tokens.", guard.Fencing, 12 * time.Second, outlived},
}

// outlived are the lessons of a holder whose session ends before it goes on.
var outlived = []lesson{
	{"c2 is granted", "Now two clients believe that they hold the lock, and c1 cannot know that it does not."},
	{"c1 goes on", "For its code no time has passed: it goes on in the middle of what the lock was to protect."},
	{"c1 writes", "The write comes after c2's and overwrites it. Guards prevent that: see --explain fenced-holder."},
	{"the resource refuses", "The resource has seen a higher token, so it refuses the write. Nothing is overwritten."},
}

// Examples returns the names that [Explain] knows.
func Examples() (names []string) {
	for _, x := range examples {
		names = append(names, x.name)
	}
	return names
}

// Explain tells the example of that name; nil if there is none.
func Explain(name string) *Explained {
	for _, x := range examples {
		if x.name != name {
			continue
		}
		r, _ := lock.Find(lock.Mutex)
		p := newPlan(r, 1, false)
		p.guard, _ = guard.Find(x.guard)
		p.clients, p.timeout, p.wait, p.hold = 2, 4*time.Second, 0, 3*time.Second
		p.turns = [][]time.Duration{{time.Second}, {time.Second + 100*time.Millisecond}}
		p.faults = []planned{{kind: kindPause, at: time.Second + 500*time.Millisecond, lasts: x.pause}}
		p.heal = p.faults[0].at + x.pause
		p.stop = p.heal + p.timeout
		return execute(p).explain(x.about, slices.Concat(x.lessons, lessons))
	}
	return nil
}

// Explain tells the run.
func (r *Run) Explain() *Explained {
	return r.explain(fmt.Sprintf("Seed %d of %s.", r.Seed, r.Recipe), lessons)
}

func (r *Run) explain(about string, lessons []lesson) *Explained {
	x := &Explained{About: about, Steps: r.tell()}
	told := map[string]bool{}
	for i := range x.Steps {
		for _, l := range lessons {
			if s := &x.Steps[i]; s.Means == "" && !told[l.words] && strings.Contains(s.Text, l.words) {
				s.Means, told[l.words] = l.says, true
			}
		}
	}
	for _, v := range r.Report.Checks {
		if v.Result == evidence.Pass || v.Result == evidence.Fail {
			x.Checks = append(x.Checks, v)
		}
	}
	return x
}

// Print prints the steps, and what the checks say of them.
func (x *Explained) Print(w io.Writer) {
	fmt.Fprintf(w, "%s\n\n    time  what happens\n", x.About)
	for _, s := range x.Steps {
		fmt.Fprintf(w, "%7.3fs  %s\n", s.At.Seconds(), s.Text)
		if s.Means != "" {
			fmt.Fprintf(w, "          | %s\n", s.Means)
		}
	}
	fmt.Fprintln(w)
	for _, v := range x.Checks {
		fmt.Fprintf(w, "%-18s %-5s %s\n", v.Name, v.Result, v.Summary)
	}
}
