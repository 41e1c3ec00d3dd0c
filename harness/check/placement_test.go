package check

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/check/evidence"
	"locklab/harness/check/service"
	"locklab/harness/history"
)

// Transactions of a leader with a clock of its own are placed by the harness's writes, whichever way and however much
// that clock is off, and also if it goes too fast.
func TestPlacementByPings(t *testing.T) {
	for _, c := range []struct {
		name  string
		ahead time.Duration
		drift float64
	}{{"right", 0, 0}, {"ahead", 5 * time.Second, 0}, {"behind", -5 * time.Second, 0}, {"too fast", time.Second, 1e-4}} {
		t.Run(c.name, func(t *testing.T) {
			const began = int64(1700000000000) * 1e6
			leader := func(at int64) (ms int64) {
				return (began + int64(c.ahead) + at + int64(float64(at)*c.drift)) / 1e6
			}
			h := nodes.NewHistory()
			var events []history.Event
			for i := range int64(60) {
				sent, took := i*1e9+i*i*12345, time.Duration(2+i%10)*time.Millisecond
				p := history.Ping{Server: "zk1", Node: fmt.Sprintf("/run/ping1-%d", i), Took: took}
				events = append(events, p.Event(sent))
				if i%7 != 0 { // some are in no log that was read
					h.Lives = append(h.Lives, &nodes.Life{Path: p.Node, Czxid: i, Created: leader(sent + int64(took)*(i%3)/3)})
				}
			}
			// The harness's own clock has nothing to do with the leader's.
			events = append(events, history.WallClock{Wall: began}.Event(0))
			p := service.NewPlacement(history.NewLog(events), h)
			if len(p.Samples) < 3 || p.Err > 5e6 {
				t.Fatalf("%d samples, off by up to %v", len(p.Samples), time.Duration(p.Err))
			}
			for at := int64(0); at < 60e9; at += 777e6 {
				if got := p.At(leader(at)); service.Abs(got-at) > p.Err {
					t.Errorf("%v is placed at %v, off by more than %v", time.Duration(at), time.Duration(got), time.Duration(p.Err))
				}
			}
		})
	}
	ping := func(i, at int64) history.Event {
		return history.Ping{Server: "zk1", Node: fmt.Sprint("/run/ping1-", i), Took: time.Millisecond}.Event(at)
	}
	life := func(i, ms int64) *nodes.Life {
		return &nodes.Life{Path: fmt.Sprint("/run/ping1-", i), Czxid: i, Created: ms}
	}
	placed := func(h *nodes.History, pings ...history.Event) service.Placement {
		return service.NewPlacement(history.NewLog(pings), h)
	}
	t.Run("made before the log begins", func(t *testing.T) {
		h := nodes.NewHistory()
		h.Lives = []*nodes.Life{{Path: "/run/ping1-1"}, life(2, 1001)}
		if p := placed(h, ping(1, 0), ping(2, 1e9)); len(p.Samples) != 1 || service.Abs(p.At(1001)-1e9) > 2e6 ||
			p.Err > 3e6 {
			t.Errorf("%+v", p)
		}
	})
	t.Run("of a clock that jumped", func(t *testing.T) {
		h := nodes.NewHistory()
		h.Lives = []*nodes.Life{life(1, 1000), life(2, 2500), life(3, 3500)}
		if p := placed(h, ping(1, 0), ping(2, 1e9), ping(3, 2e9)); p.Err < 497e6 {
			t.Errorf("off by no more than %v", time.Duration(p.Err))
		}
	})
	t.Run("by two groups of slow pings that may agree", func(t *testing.T) {
		const took = 120 * time.Millisecond
		h := nodes.NewHistory()
		var pings []history.Event
		for i := range int64(20) {
			p := history.Ping{Server: "zk1", Node: fmt.Sprint("/run/ping1-", i), Took: took}
			pings = append(pings, p.Event(i*1e9))
			ms := i * 1000
			if i < 10 {
				ms -= took.Milliseconds() // the first ten were carried out as they were sent, the others as they were answered
			}
			h.Lives = append(h.Lives, life(i, 5000+ms))
		}
		if p := placed(h, pings...); p.Err < int64(took) || strings.Contains(p.How, "jumped") {
			t.Errorf("%s %v", p.How, time.Duration(p.Err))
		}
	})
	t.Run("by pings that were answered slowly", func(t *testing.T) {
		slow := history.Ping{Server: "zk1", Node: "/run/ping1-1", Took: time.Second}.Event(1e9)
		h := nodes.NewHistory()
		h.Lives = []*nodes.Life{life(1, 1000)}
		doubts := (&evidence.Transactions{ServerLog: &evidence.ServerLog{History: h},
			Clock: placed(h, slow)}).DoubtedBecause()
		const want = "was read too slowly: it is known only to within 501 ms"
		if len(doubts) != 1 || !strings.HasSuffix(doubts[0], want) {
			t.Errorf("doubts are %q, want one that ends with %q", doubts, want)
		}
	})
	t.Run("unknown", func(t *testing.T) {
		events := []history.Event{history.WallClock{Wall: 5}.Event(0),
			history.Ping{Server: "zk1", Node: "/run/ping1-1"}.Event(7)}
		if p := service.NewPlacement(history.NewLog(events), nodes.NewHistory()); len(p.Samples) != 0 {
			t.Errorf("placed by %+v", p.Samples)
		}
	})
}
