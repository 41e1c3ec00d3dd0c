package agent

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// A request that finds its connection closed is sent again if it changes nothing, and is never sent again otherwise.
func TestClosedConnections(t *testing.T) {
	var mu sync.Mutex
	asked := map[string]int{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked[r.URL.Path]++
		n := asked[r.URL.Path]
		mu.Unlock()
		if n == 2 {
			panic(http.ErrAbortHandler) // closes the connection without an answer
		}
		w.Write([]byte("{}"))
	}))
	defer s.Close()
	c := NewClient("c1", strings.TrimPrefix(s.URL, "http://"), "")
	defer c.Close()
	for range 2 {
		if _, err := c.Status(t.Context()); err != nil {
			t.Errorf("status: %v", err)
		}
	}
	if _, err := c.Kill(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := c.Kill(t.Context()); err == nil {
		t.Error("a kill whose answer was lost is reported as done")
	}
	if asked["/status"] != 3 || asked["/kill"] != 2 {
		t.Errorf("requests: %v, want 3 for the status and 2 for the kill", asked)
	}
}
