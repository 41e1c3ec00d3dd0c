package zksession

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestHostsKeepTheOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over := false
		h := &hosts{servers: []string{"a", "b", "c"}, over: func() bool { return over }}
		if err := h.Init([]string{"c", "a", "b"}); err != nil {
			t.Fatal(err)
		}
		type try struct {
			Server string
			Pause  time.Duration
		}
		var got []try
		next := func(n int) {
			for range n {
				server, newRound := h.Next()
				if newRound {
					t.Error("the hosts ask for a new round")
				}
				got = append(got, try{server, h.pause()})
			}
		}
		next(8)
		h.Connected()
		time.Sleep(steady)
		next(4)
		h.Connected() // and breaks at once
		next(4)
		want := []try{{"a", 0}, {"b", 0}, {"c", 0}, {"a", 10e6}, {"b", 0}, {"c", 0}, {"a", 20e6}, {"b", 0},
			{"c", 0}, {"a", 0}, {"b", 0}, {"c", 10e6}, // after a connection it goes on with the next server at once
			{"a", 0}, {"b", 0}, {"c", 20e6}, {"a", 0}} // and as if there had been none, if it did not last
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("tries (-want +got):\n%s", d)
		}
		over = true
		if _, newRound := h.Next(); !newRound {
			t.Error("go-zookeeper does not learn that the session is over")
		}
	})
}

func TestHostsBackoffIsBounded(t *testing.T) {
	h := &hosts{servers: []string{"a"}, over: func() bool { return false }}
	var longest time.Duration
	for range 20 {
		h.Next()
		longest = max(longest, h.pause())
	}
	if longest != backoffMax {
		t.Errorf("longest pause %s, want %s", longest, backoffMax)
	}
}
