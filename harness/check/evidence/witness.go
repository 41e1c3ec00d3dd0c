package evidence

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/history"
)

// A Proof is what the servers say about one grant.
type Proof struct {
	Answer nodes.Answer // NoZnode if it is of no grant
	// Spans are those of the grant's own znodes that were eligible together at an instant of the call, as many as
	// it needs: one, or one for each permit.
	Spans []*nodes.Span
	// Best is the nearest znode where the grant is not witnessed: one of that token, or of that session.
	Best *nodes.Contender
	// Had is for how many permits it had leases.
	Had int
	// Shared is another grant that has the same znode.
	Shared *history.Acquisition
}

// From is the transaction since which all of the grant's znodes were eligible.
func (w *Proof) From() (zxid, ms int64) {
	for _, s := range w.Spans {
		if s.From > zxid {
			zxid, ms = s.From, s.FromTime
		}
	}
	return zxid, ms
}

// Path is the path of the znode that comes nearest; empty if there is none.
func (w *Proof) Path() string {
	if w.Best == nil {
		return ""
	}
	return w.Best.Path
}

// End is the transaction after which none of the grant's znodes was left, nil if one is.
func (w *Proof) End() *nodes.End {
	var last *nodes.End
	for _, s := range w.Spans {
		if s.End == nil {
			return nil
		}
		if last == nil || s.End.Zxid > last.Zxid {
			last = s.End
		}
	}
	return last
}

// FirstEnd is the first transaction that ended one of the grant's znodes, nil if none did.
func (w *Proof) FirstEnd() *nodes.End {
	var first *nodes.End
	for _, s := range w.Spans {
		if s.End != nil && (first == nil || s.End.Zxid < first.Zxid) {
			first = s.End
		}
	}
	return first
}

// witness asks the servers about one grant.
//
// A grant with a token has the znodes that the transaction of that number created. A grant without one, or with a token
// that counts something else, has znodes of its session that were created during the call and belong to no grant before
// it. So has a reader that was a writer, whose token is the writer's.
func (v *evidence) witness(a *history.Acquisition) Proof {
	w := Proof{Answer: nodes.NoZnode}
	need := 1
	if a.Mode == history.ModePermit {
		need = int(max(a.Permits, 1))
	}
	ix := v.index[a.Lock]
	var during []*nodes.Span
	for _, c := range v.candidates(a, ix, &w) {
		for s := range ix.spansOf(c.Life) {
			if v.during(s, a) {
				during = append(during, s)
			}
		}
	}
	together := deepest(during, need)
	w.Had = len(together)
	if len(together) < need {
		return w
	}
	w.Answer, w.Spans = nodes.Witnessed, together
	for _, s := range together {
		if other := v.UsedBy(s.Life); other != nil && (other.Client != a.Client || other.Session != a.Session) {
			w.Shared = other
		}
		v.used[s.Number] = a.Place + 1
	}
	return w
}

// candidates returns the znodes that can belong to the grant, in the order of creation, and notes the best answer in
// case none of them was eligible.
func (v *evidence) candidates(a *history.Acquisition, ix *laneIndex, w *Proof) []*nodes.Contender {
	session := int64(a.Session)
	kind := func(c *nodes.Contender) bool {
		return !v.modes || (c.Kind == kindReader) == (a.Mode == history.ModeRead)
	}
	var own []*nodes.Contender
	wasWriter := false
	for _, c := range ix.createdBy(a.Token) { // none has 0
		switch {
		case !v.zxids:
		case c.Owner == session && kind(c):
			own = append(own, c)
		case c.Owner == session && a.Mode == history.ModeRead:
			wasWriter = true
		case c.Owner != session && w.Best == nil:
			w.Answer, w.Best = nodes.OtherSession, c
		}
	}
	if a.Token == 0 || wasWriter || !v.zxids {
		mine := ix.of(session)
		from, _ := slices.BinarySearchFunc(mine, a.Invoked, func(c *nodes.Contender, invoked int64) int {
			return cmp.Compare(v.Clock.At(c.Created)+v.Clock.Err, invoked)
		})
		for _, c := range mine[from:] {
			if v.Clock.At(c.Created)-v.Clock.Err > a.Returned && len(own) > 0 {
				break
			}
			if kind(c) && v.UsedBy(c.Life) == nil {
				own = append(own, c)
			}
			if v.Clock.At(c.Created)-v.Clock.Err > a.Returned {
				break // it belongs to the next acquire, or shows what came too late
			}
		}
	}
	if len(own) > 0 {
		w.Answer, w.Best = nodes.Ineligible, own[len(own)-1]
	}
	return own
}

// A laneIndex finds the contenders of a lane, in the order of creation, and their spans. It lacks contenders from
// before the logs.
type laneIndex struct {
	lane *nodes.Lane
	made []*nodes.Contender // in the order of their zxids too

	first []int32       // by the numbers of znodes: the first span's place in the lane, and 1
	more  map[int32]int // by a span's place: that of the next one of its znode, if there is one

	bySession map[int64][]*nodes.Contender // nil until it is needed
	byName    []int                        // of all contenders, in the order of names; nil until it is needed
}

// SpansOf yields the spans in which a znode was eligible for a lock.
func (v *evidence) SpansOf(lock string, l *nodes.Life) iter.Seq[*nodes.Span] {
	return v.index[lock].spansOf(l)
}

// Named returns a lock's contenders whose names begin with one of the prefixes, in the order of creation.
func (v *evidence) Named(lock string, prefixes []string) []*nodes.Contender {
	return v.index[lock].named(prefixes)
}

// spansOf yields the spans of a znode.
func (ix *laneIndex) spansOf(l *nodes.Life) iter.Seq[*nodes.Span] {
	return func(yield func(*nodes.Span) bool) {
		for i, more := int(ix.first[l.Number])-1, true; i >= 0 && more && yield(&ix.lane.Spans[i]); {
			i, more = ix.more[int32(i)]
		}
	}
}

// of returns the contenders of a session.
func (ix *laneIndex) of(session int64) []*nodes.Contender {
	if ix.bySession == nil {
		ix.bySession = map[int64][]*nodes.Contender{}
		for _, c := range ix.made {
			ix.bySession[c.Owner] = append(ix.bySession[c.Owner], c)
		}
	}
	return ix.bySession[session]
}

// named returns the contenders whose names begin with one of the prefixes, in the lane's order.
func (ix *laneIndex) named(prefixes []string) []*nodes.Contender {
	all := ix.lane.Contenders
	if ix.byName == nil {
		for i := range all {
			ix.byName = append(ix.byName, i)
		}
		slices.SortFunc(ix.byName, func(a, b int) int { return strings.Compare(all[a].Name(), all[b].Name()) })
	}
	found := map[int]bool{}
	for _, prefix := range prefixes {
		from, _ := slices.BinarySearchFunc(ix.byName, prefix, func(i int, prefix string) int {
			return strings.Compare(all[i].Name(), prefix)
		})
		for _, i := range ix.byName[from:] {
			if !strings.HasPrefix(all[i].Name(), prefix) {
				break
			}
			found[i] = true
		}
	}
	var named []*nodes.Contender
	for _, i := range slices.Sorted(maps.Keys(found)) {
		named = append(named, &all[i])
	}
	return named
}

// createdBy returns the contenders that a transaction created.
func (ix *laneIndex) createdBy(zxid int64) []*nodes.Contender {
	byZxid := func(c *nodes.Contender, zxid int64) int { return cmp.Compare(c.Czxid, zxid) }
	from, _ := slices.BinarySearchFunc(ix.made, zxid, byZxid)
	until := from
	for until < len(ix.made) && ix.made[until].Czxid == zxid {
		until++
	}
	return ix.made[from:until]
}

// indexOf returns the index of a lane. Indices of lanes without a common znode share first, which has room for all
// znodes.
func indexOf(lane *nodes.Lane, first []int32) *laneIndex {
	ix := &laneIndex{lane: lane, first: first, more: map[int32]int{}}
	ix.made = make([]*nodes.Contender, 0, len(lane.Contenders))
	for i := range lane.Contenders {
		if c := &lane.Contenders[i]; c.Czxid != 0 {
			ix.made = append(ix.made, c)
		}
	}
	for i := len(lane.Spans) - 1; i >= 0; i-- {
		first := &ix.first[lane.Spans[i].Number]
		if *first != 0 {
			ix.more[int32(i)] = int(*first - 1)
		}
		*first = int32(i + 1)
	}
	return ix
}

// deepest returns up to need of the spans that were eligible at one instant, as many as there ever were together, in
// the order in which they began.
func deepest(spans []*nodes.Span, need int) []*nodes.Span {
	slices.SortStableFunc(spans, func(a, b *nodes.Span) int { return cmp.Compare(a.From, b.From) })
	var best, active []*nodes.Span
	for _, s := range spans {
		active = slices.DeleteFunc(active, func(o *nodes.Span) bool { return o.To != 0 && o.To <= s.From })
		active = append(active, s)
		if len(active) > len(best) {
			best = slices.Clone(active)
		}
		if len(best) >= need {
			return best[:need]
		}
	}
	return best
}

// Whose names the client of a session, for a sentence.
func (d *Digest) Whose(session int64) string {
	if c := d.ClientOf[history.SessionID(session)]; c != "" {
		return c
	}
	if session == 0 {
		return "no session"
	}
	return "session " + history.SessionID(session).String()
}

// Describe says what is known of a znode, in words.
func (d *Digest) Describe(c *nodes.Contender) string {
	s := fmt.Sprintf("%s of %s, created at zxid %s", c.Name(), d.Whose(c.Owner), Zxid(c.Czxid))
	if c.End != nil {
		s += fmt.Sprintf(" and gone at %s (%v)", Zxid(c.End.Zxid), c.End.Cause)
	}
	return s
}

// EndAtServers is the latest instant at which the servers can have ended a's hold, and the transaction that did: the
// end of the first of its znodes, or of its session where its znodes are not known. The transaction is nil if there is
// none, or if the servers' logs do not tell.
func (d *Digest) EndAtServers(a *history.Acquisition) (at int64, end *nodes.End) {
	if !d.Transactions.Whole() {
		return history.None, nil
	}
	if d.Servers == nil {
		end = d.SessionEnd(a.Session)
	} else if w := d.Servers.Proof(a); w.Answer == nodes.Witnessed {
		end = w.FirstEnd()
	}
	if end == nil {
		return history.None, nil
	}
	return d.Transactions.Clock.At(end.Time) + d.Transactions.Clock.Err, end
}

// GrantedFirst reports whether it is known that the service granted a before b, by the tokens or by the znodes.
func (d *Digest) GrantedFirst(a, b *history.Acquisition) bool {
	if a.Token != 0 && b.Token != 0 {
		return a.Token < b.Token
	}
	if d.Servers == nil {
		return false
	}
	p, q := d.Servers.Proof(a), d.Servers.Proof(b)
	if p.Answer != nodes.Witnessed || q.Answer != nodes.Witnessed {
		return false
	}
	first, _ := p.From()
	second, _ := q.From()
	return first < second
}
