package agent

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"locklab/harness/history"
)

// clocked returns a client of an agent whose host has a clock of that name, which is ahead of this process's.
func clocked(t *testing.T, name string, ahead time.Duration) *Client {
	own := history.NewClock()
	shows := func() int64 { return own.Now() + int64(ahead) }
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer any
		switch r.URL.Path {
		case "/time":
			answer = Time{Clock: name, Shows: shows(), Wall: time.Now().UnixNano()}
		case "/pause":
			answer = Stamp{At: shows()}
		case "/status":
			answer = Status{Since: shows()}
		case "/zookeeper/nodes":
			answer = NodeAnswer{Stamp: Stamp{At: shows()}}
		case "/datagrams/heard":
			answer = Heard{Count: 1, First: shows()}
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(s.Close)
	c := NewClient("c1", strings.TrimPrefix(s.URL, "http://"), "")
	t.Cleanup(c.Close)
	return c
}

// Whatever an agent stamps by another clock arrives as a time of this process's, as soon as the clock was read.
func TestStampsOfAnotherClock(t *testing.T) {
	own := history.NewClock()
	c := clocked(t, "another", 100_000*time.Second)
	reading, wall, err := c.ReadClock(t.Context())
	if err != nil || reading.Same || reading.Host != "c1" || reading.Took <= 0 || wall.Wall == 0 || wall.Host != "c1" {
		t.Fatalf("%+v %+v %v", reading, wall, err)
	}
	near := func(what string, at int64, err error) {
		t.Helper()
		if off := time.Duration(at - own.Now()); err != nil || off.Abs() > time.Second {
			t.Errorf("%s is off by %v: %v", what, off, err)
		}
	}
	st, err := c.Pause(t.Context())
	near("a stamp", st.At, err)
	status, err := c.Status(t.Context())
	near("a status", status.Since, err)
	nodes, err := c.Nodes(t.Context(), NodeRequest{})
	near("an answer", nodes.At, err)
	heard, err := c.Heard(t.Context(), "")
	near("a datagram", heard.First, err)
	if heard.Last != 0 {
		t.Errorf("no time became %d", heard.Last)
	}
	near("what the host is told", c.ToHost(own.Now())-int64(100_000*time.Second), nil)
}

// Only a clock of the same name that shows what this process's shows is taken for the same, and left alone.
func TestSameClock(t *testing.T) {
	name, err := history.ClockName()
	if err != nil || name == "" {
		t.Skipf("this kernel does not name its clock: %v", err)
	}
	for _, c := range []struct {
		name  string
		ahead time.Duration
		same  bool
	}{{name, 0, true}, {"another", 0, false}, {"", 0, false}, {name, time.Hour, false}} {
		reading, _, err := clocked(t, c.name, c.ahead).ReadClock(t.Context())
		if err != nil || reading.Same != c.same || !c.same && reading.Clock == name {
			t.Errorf("clock %q, %v ahead: %+v %v", c.name, c.ahead, reading, err)
		}
	}
	same := clocked(t, name, 0)
	if _, _, err := same.ReadClock(t.Context()); err != nil || same.ToRun(5) != 5 || same.ToHost(5) != 5 {
		t.Errorf("times of the same clock were changed: %v", err)
	}
}
