package simulate

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"locklab/harness/history"
	"locklab/recipes/zktest"
	"locklab/reports/words"
)

// A Step is something that happened in a run, in plain words.
type Step struct {
	At   time.Duration `json:"at_ns"`
	Text string        `json:"text"`
	// Means is what it means, if the run is explained; see [Explained].
	Means string `json:"means,omitempty"`
	// Still is how many of [Branches] runs show the violation that are the same up to this step, and go on with other
	// delays, elections and lengths of work; nil = not tried.
	Still *int `json:"still,omitempty"`
}

// tell tells what happened.
func (r *Run) tell() (all []Step) {
	t := teller{sessions: map[int64]string{}, leads: map[string]string{}}
	for i := range r.Events {
		e := &r.Events[i]
		all = append(all, Step{At: time.Duration(e.At), Text: t.event(e)})
	}
	for i := range r.txns {
		all = append(all, t.transaction(&r.txns[i])...)
	}
	slices.SortStableFunc(all, func(a, b Step) int { return cmp.Compare(a.At, b.At) })
	return slices.DeleteFunc(all, func(s Step) bool { return s.Text == "" })
}

// A teller says in words what happened.
type teller struct {
	sessions map[int64]string // whose they are
	leads    map[string]string
}

// who names a client by its host, which has only one.
func who(client string) string { return history.HostOf(client) }

// event tells an event; empty if it says nothing that other steps do not.
func (t *teller) event(e *history.Event) string {
	c, what := who(e.Client), "the lock"
	switch e.Mode {
	case history.ModeRead, history.ModeWrite:
		what += " to " + string(e.Mode)
	case history.ModePermit:
		what = words.Count(e.Permits(), "permit")
	}
	switch {
	case e.Op == history.OpFaultAim:
		t.leads[e.Fault] = ", which leads,"
	case e.Op == history.OpFaultInject && e.Kind == history.OK, e.Op == history.OpFaultHeal:
		if says := faultWords[string(e.Mode)]; e.Op == history.OpFaultInject {
			text := e.Target + t.leads[e.Fault] + says[0]
			if e.Detail != "" {
				text += "; " + e.Detail
			}
			return text
		} else if says[1] != "" {
			return e.Target + says[1]
		}
	case e.Process == "r1" && e.Kind == history.Fail:
		return fmt.Sprintf("the resource refuses %s's %s, because its token is stale", c, e.Op)
	case e.Process == "r1" && (e.Op == history.OpRead || e.Op == history.OpWrite):
		return fmt.Sprintf("%s %ss %d", c, e.Op, e.Value)
	case e.Op == history.OpConnected && t.sessions[int64(e.Session)] != "":
		return c + " is connected again, to " + e.Target
	case e.Op == history.OpConnected:
		t.sessions[int64(e.Session)] = c
		return fmt.Sprintf("%s gets a session of %s, on %s", c, time.Duration(e.Value), e.Target)
	case e.Op == history.OpDisconnected:
		return c + " loses its connection"
	case e.Op == history.OpExpired:
		return c + " learns that its session has expired"
	case e.Op == history.OpLost:
		return c + " learns that it has lost the lock: " + e.Detail
	case e.Op == history.OpQueued && e.Value > 0:
		return fmt.Sprintf("%s waits behind %s", c, words.Count(e.Value, "other"))
	case e.Op == history.OpRelease && e.Kind == history.Invoke:
		return c + " releases the lock"
	case e.Op == history.OpRelease && e.Kind != history.OK:
		return c + " cannot release the lock: " + e.Detail
	case e.Op == history.OpAcquire && e.Kind == history.Invoke:
		return c + " asks for " + what
	case e.Op == history.OpAcquire && e.Kind == history.OK:
		return fmt.Sprintf("%s is granted %s, with token %d", c, what, e.Token)
	case e.Op == history.OpAcquire:
		return fmt.Sprintf("%s does not get %s: %s", c, what, e.Detail)
	}
	return ""
}

// faultWords say what a fault does to its host, and what its end does.
var faultWords = map[string][2]string{
	kindPause:     {" is paused", " goes on"},
	kindKill:      {" is killed", " is started again"},
	kindPartition: {" is cut off from the servers", " is connected to the servers again"},
	kindReset:     {" has its connection reset", ""},
	kindExpire:    {" has its session ended by an administrator", ""},
}

// transaction tells what the servers did.
func (t *teller) transaction(x *zktest.Transaction) (all []Step) {
	c := cmp.Or(t.sessions[x.Session], "a client")
	if x.Closes && x.Cxid == 0 {
		all = append(all, Step{At: x.At, Text: "the servers expire " + c + "'s session"})
	}
	for _, change := range x.Changes {
		name, inside := strings.CutPrefix(change.Path, lockPath+"/")
		if guid := len("_c_") + 36; strings.HasPrefix(name, "_c_") && len(name) > guid {
			name = strings.TrimPrefix(name[guid:], "-") // without its GUID
		}
		switch {
		case !inside:
		case change.Op == zktest.OpCreate && change.Ephemeral:
			all = append(all, Step{At: x.At, Text: fmt.Sprintf("the servers create %s's znode %s", c, name)})
		case change.Op == zktest.OpDelete:
			all = append(all, Step{At: x.At, Text: "the servers delete the znode " + name})
		}
	}
	return all
}

// Print prints the steps of the run.
func (x *Shrunk) Print(w io.Writer) {
	fmt.Fprintf(w, "\nReduced from %s to %s. Nothing more can be left out (%d runs, %.1f s).\n%s\n\n", x.Before,
		x.After, x.Tries, x.Took.Seconds(), x.Finding.Text)
	fmt.Fprintf(w, "step       time  still  what happens\n")
	for i, s := range x.Steps {
		still := ""
		if s.Still != nil {
			still = fmt.Sprintf("%d%%", *s.Still*100/Branches)
		}
		fmt.Fprintf(w, "%4d  %8.4fs  %5s  %s\n", i+1, s.At.Seconds(), still, s.Text)
	}
	fmt.Fprintf(w, "\n%s\nstill: how many of %d runs show the violation that are the same up to this step, and go on "+
		"with other delays.\n", x.Decides(), Branches)
}
