package nodes

// A Grant is what a client was told: that it holds a lock since some moment during a call.
type Grant struct {
	// Czxid is the grant's token. It is 0 if the lock gives no token; then any znode of the session witnesses the
	// grant.
	Czxid   int64
	Session int64
	// From and To bound the call on the leaders' clock, in ms. Each is widened by the uncertainty of the relation
	// between the clocks.
	From, To int64
}

// An Answer is what the transactions of the servers say about a grant.
type Answer int

// The answers, from the least to the most evidence for a grant.
const (
	// NoZnode means that no znode with that czxid, or none of that session, ever contended.
	NoZnode Answer = iota
	// OtherSession means that the znode belongs to another session.
	OtherSession
	// Ineligible means that the znode was the session's own, but not eligible at any moment of the call.
	Ineligible
	// Witnessed means that the znode existed, was the session's own, and was eligible at some moment of the call.
	Witnessed
)

func (a Answer) String() string {
	return [...]string{"no such znode", "another session's znode", "not eligible during the call", "witnessed"}[a]
}

// Witness returns the strongest answer that any of the lane's contenders gives for a grant, and the span of that
// contender if the answer is Witnessed.
func (l *Lane) Witness(g Grant) (Answer, *Span) {
	answer := NoZnode
	for _, c := range l.Contenders {
		switch {
		case g.Czxid == 0 && c.Owner == g.Session, g.Czxid != 0 && c.Czxid == g.Czxid && c.Owner == g.Session:
			answer = max(answer, Ineligible)
		case g.Czxid != 0 && c.Czxid == g.Czxid:
			answer = max(answer, OtherSession)
		}
	}
	if answer < Ineligible {
		return answer, nil
	}
	for i, s := range l.Spans {
		own := s.Owner == g.Session && (g.Czxid == 0 || s.Czxid == g.Czxid)
		if own && s.FromTime <= g.To && (s.To == 0 || s.ToTime >= g.From) {
			return Witnessed, &l.Spans[i]
		}
	}
	return answer, nil
}
