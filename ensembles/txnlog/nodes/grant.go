package nodes

// A Grant is what a client was told: that it holds a lock since some moment of a call.
type Grant struct {
	// Czxid is the grant's token; 0 if the lock gives none, when any znode of the session's will do.
	Czxid   int64
	Session int64
	// From and To bound the call on the leaders' clock, in ms, each by as much more as
	// the clocks' relation is uncertain.
	From, To int64
}

// An Answer is what the servers say of a grant.
type Answer int

// The answers, from the least to the most that a grant can have for itself.
const (
	// NoZnode: none with that czxid ever contended, or none of that session.
	NoZnode Answer = iota
	// OtherSession: the znode is another session's.
	OtherSession
	// Ineligible: it was its own, but not eligible at any moment of the call.
	Ineligible
	// Witnessed: it was there, its own, and eligible at some moment of the call.
	Witnessed
)

func (a Answer) String() string {
	return [...]string{"no such znode", "another session's znode", "not eligible during the call", "witnessed"}[a]
}

// Witness looks for a grant among the lane's contenders, and returns the best answer that one of them
// gives and its span, if it is Witnessed.
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
		if s.Owner == g.Session && (g.Czxid == 0 || s.Czxid == g.Czxid) && s.FromTime <= g.To && (s.To == 0 || s.ToTime >= g.From) {
			return Witnessed, &l.Spans[i]
		}
	}
	return answer, nil
}
