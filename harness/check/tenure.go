package check

import (
	"math"

	"locklab/harness/history"
)

// A Tenure is a time in which a client's znode was eligible for a lock: a piece of what the servers
// held, by their transactions. Times are on the run's base, and off by up to [Held].Err either way.
type Tenure struct {
	Client      string // whose session it was; empty if no client's
	Session     history.SessionID
	Token       int64 // the znode's czxid
	From, Until int64 // Until is math.MaxInt64 if it never ended
	First, Last int64 // the transactions that began and ended it; Last is 0 if none did
}

// Held is what the servers held, by lock, in the order of its beginnings.
type Held struct {
	Err   int64 // ns
	Locks map[string][]Tenure

	_ struct{}
}

// held returns nil where the servers' word cannot be used.
func (d *digest) held() *Held {
	v := d.servers
	if v == nil {
		return nil
	}
	h := &Held{Err: v.clock.err, Locks: map[string][]Tenure{}}
	for lock, lane := range v.lanes {
		for i := range lane.Spans {
			s := &lane.Spans[i]
			t := Tenure{Client: d.clientOf[history.SessionID(s.Owner)], Session: history.SessionID(s.Owner), Token: s.Czxid,
				From: v.clock.at(s.FromTime), Until: math.MaxInt64, First: s.From, Last: s.To}
			if s.To != 0 {
				t.Until = v.clock.at(s.ToTime)
			}
			h.Locks[lock] = append(h.Locks[lock], t)
		}
	}
	return h
}
