package check

import (
	"locklab/harness/check/evidence"
	"locklab/harness/history"
)

// A ServerHold is a time in which the servers held a client's znode eligible for a lock, by their transactions. Times
// are on the run's base, and off by up to [ServerHolds].Err either way.
type ServerHold struct {
	Client      string // the client whose session it was; empty if it was of no client
	Session     history.SessionID
	Token       int64 // the znode's czxid
	From, Until int64 // Until is math.MaxInt64 if it never ended
	First, Last int64 // the transactions that began and ended it; Last is 0 if none did
}

// ServerHolds are the holds of all locks at the servers, in the order in which they began.
type ServerHolds struct {
	Err   int64 // ns
	Locks map[string][]ServerHold

	_ struct{}
}

// serverHolds returns nil where the servers' logs cannot be used.
func serverHolds(d *evidence.Digest) *ServerHolds {
	v := d.Servers
	if v == nil {
		return nil
	}
	h := &ServerHolds{Err: v.Clock.Err, Locks: map[string][]ServerHold{}}
	for lock, lane := range v.Lanes {
		h.Locks[lock] = make([]ServerHold, 0, len(lane.Spans))
		for i := range lane.Spans {
			s := &lane.Spans[i]
			from, until := v.Clock.Times(s)
			h.Locks[lock] = append(h.Locks[lock], ServerHold{
				Client:  d.ClientOf[history.SessionID(s.Owner)],
				Session: history.SessionID(s.Owner),
				Token:   s.Czxid,
				From:    from,
				Until:   until,
				First:   s.From,
				Last:    s.To,
			})
		}
	}
	return h
}
