package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/harness/history"
)

// liar returns a host whose agent reports success for every command and does nothing. The host's process,
// connections, znodes and sessions stay.
func liar(t *testing.T, session history.SessionID) *ensembles.Host {
	t.Helper()
	contender := agent.Node{Path: lock + "/n", Czxid: 7, Session: session}
	directory := agent.Node{Path: lock, Czxid: 5, Children: []agent.Node{contender}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer any = agent.Stamp{At: 1}
		switch r.URL.Path {
		case "/status":
			answer = agent.Status{State: history.ProcessStarted, PID: 9, Starts: 1}
		case "/reset", "/connections":
			answer = agent.Connections{Stamp: agent.Stamp{At: 1}, Open: []string{"here there"}}
		case "/zookeeper/nodes":
			var asked agent.NodeRequest
			if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
				t.Error(err)
			}
			is := agent.NodeAnswer{Stamp: agent.Stamp{At: 1}, Node: directory}
			if asked.Path == contender.Path {
				is.Node = contender
			}
			answer = is
		case "/zookeeper/srvr":
			io.WriteString(w, "Zookeeper version: 3.8.0-x, built on a day\nMode: standalone\n")
			return
		case "/zookeeper/dump":
			fmt.Fprintf(w, "SessionTracker dump:\n\t%s\n", session)
			return
		}
		json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(s.Close)
	c := agent.NewClient("c1", strings.TrimPrefix(s.URL, "http://"), "")
	t.Cleanup(c.Close)
	return &ensembles.Host{Name: "c1", Agent: c}
}

// A said is a witness that has seen the session's client obey the command.
type said history.SessionID

func (s said) Triggered(context.Context, string, string) (history.Event, error) {
	return history.Event{At: 1, Session: history.SessionID(s)}, nil
}

// of returns a client's session, which is always the same.
func of(s history.SessionID) func() history.SessionID {
	return func() history.SessionID { return s }
}

// A client whose session ends before it has a znode has the next one in another session.
func TestDeleteNodeFollowsTheClient(t *testing.T) {
	session := history.SessionID(0)
	d := deleteNode{session: func() history.SessionID { return session }}
	nodes := []agent.Node{{Path: "/l/3", Session: 2, Czxid: 30}, {Path: "/l/2", Session: 2, Czxid: 20},
		{Path: "/l/1", Session: 1, Czxid: 10}}
	for s, want := range map[history.SessionID]string{1: "/l/1", 2: "/l/2", 3: ""} {
		session = s
		if n, err := d.choose(nodes); n.Path != want || (err == nil) != (want != "") {
			t.Errorf("session %v: %+v, %v", s, n, err)
		}
	}
}

// A fault that is over at once is verified by its effect, and not by an agent's report.
func TestMomentaryFaultsAreVerifiedByTheirEffect(t *testing.T) {
	const session history.SessionID = 0x100
	h := liar(t, session)
	e := &ensembles.Ensemble{Servers: []*ensembles.Host{h}}
	p := Process{Host: h}
	for name, f := range map[string]Injector{
		"restart": ending{p, Process.restart}, "rolling restart": rollingRestart{all: []Process{p}},
		"upgrade": upgrade{&Run{Ensemble: e, Process: func(*ensembles.Host) Process { return p }}, e.Servers,
			ensembles.DefaultVersion},
		"reset":  reset{ends{"f1", h, []*ensembles.Host{h}, e}},
		"expire": expireSession{byClient{id: "f1", host: h, witness: said(session), ensemble: e}},
		"znode":  deleteNode{e, lock, of(session), h}, "parent": deleteParent{ensemble: e, lock: lock},
	} {
		t.Run(name, func(t *testing.T) {
			harm, err := f.Inject(within(t, 10*time.Second))
			if err != nil {
				t.Fatal(err)
			}
			if err := harm.Verify(within(t, 5*pollEvery)); err == nil {
				t.Error("it is verified, and nothing was done")
			} else {
				t.Log(err)
			}
		})
	}
}
