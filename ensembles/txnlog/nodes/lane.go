package nodes

import (
	"cmp"
	"maps"
	"slices"
)

// A Contender is a znode that contends for a lock.
type Contender struct {
	*Life
	Place
}

// A Span is a time in which a contender was eligible. It lasts from the transaction that made the contender eligible
// to the one that ended that, which is usually the end of the znode's life.
type Span struct {
	*Contender
	From, To         int64 // zxids; To is 0 if the contender is still eligible
	FromTime, ToTime int64 // ms
}

// A Lane says which contenders were eligible for one lock and when, as the servers saw it.
type Lane struct {
	// Contenders are in the order of creation.
	Contenders []Contender
	// Spans are in the order in which they begin. The spans of one contender do not touch.
	Spans []Span
}

// A change is that a contender comes or goes with a transaction.
type change struct {
	zxid, time int64
	contender  *Contender
	comes      bool
}

// changes are what contenders do, in the order of transactions. In one transaction, contenders go before others come.
type changes struct {
	all         []Contender
	comes, goes []int32 // which come and which go, in that order
}

func (l *Lane) changes() *changes {
	c := &changes{all: l.Contenders}
	for i := range c.all {
		l := &c.all[i]
		if l.End != nil && l.End.Zxid == l.Czxid {
			continue
		}
		c.comes = append(c.comes, int32(i))
		if l.End != nil {
			c.goes = append(c.goes, int32(i))
		}
	}
	sortBy(c.comes, func(i int32) int64 { return c.all[i].Czxid })
	sortBy(c.goes, func(i int32) int64 { return c.all[i].End.Zxid })
	return c
}

// sortBy sorts contenders by a zxid. Mostly they are in that order already.
func sortBy(which []int32, zxid func(int32) int64) {
	slices.SortFunc(which, func(a, b int32) int { return cmp.Or(cmp.Compare(zxid(a), zxid(b)), cmp.Compare(a, b)) })
}

func (c *changes) next() (change, bool) {
	var come, goer *Contender
	if len(c.comes) > 0 {
		come = &c.all[c.comes[0]]
	}
	if len(c.goes) > 0 {
		goer = &c.all[c.goes[0]]
	}
	switch {
	case goer != nil && (come == nil || goer.End.Zxid <= come.Czxid):
		c.goes = c.goes[1:]
		return change{goer.End.Zxid, goer.End.Time, goer, false}, true
	case come != nil:
		c.comes = c.comes[1:]
		return change{come.Czxid, come.Created, come, true}, true
	}
	return change{}, false
}

// Lane applies a rule to one lock's contenders after each transaction that created or deleted one. A znode that is
// created and deleted within one transaction is never eligible.
func (h *History) Lane(contends Selector, rule Rule) *Lane {
	lane := &Lane{}
	lives := h.below(contends.dir)
	lane.Contenders = make([]Contender, 0, len(lives))
	for _, l := range lives {
		if place, ok := contends.place(l.Name()); ok {
			lane.Contenders = append(lane.Contenders, Contender{l, place})
		}
	}
	lane.Spans = make([]Span, 0, len(lane.Contenders))
	var (
		live     []*Contender
		eligible []bool
		open     = map[*Life]int{} // index of the span that has not ended
		first    = 0               // how many contenders at the head of the queue may be, or may have been, eligible
	)
	changes := lane.changes()
	for now, more := changes.next(); more; {
		c := now.contender
		i := search(live, c)
		switch {
		case now.comes:
			live, eligible = slices.Insert(live, i, c), slices.Insert(eligible, i, false)
			first++
		case i == 0:
			live, eligible = live[1:], eligible[1:]
			lane.close(open, c, now.zxid, now.time)
		default:
			live, eligible = slices.Delete(live, i, i+1), slices.Delete(eligible, i, i+1)
			lane.close(open, c, now.zxid, now.time)
		}
		was := now
		if now, more = changes.next(); more && now.zxid == was.zxid {
			continue
		}
		first = min(first, len(live))
		may := max(first, rule(live, eligible, first))
		last := 0
		for i, c := range live[:may] {
			if !eligible[i] {
				lane.close(open, c, was.zxid, was.time)
				continue
			}
			last = i + 1
			if _, is := open[c.Life]; !is {
				open[c.Life] = len(lane.Spans)
				lane.Spans = append(lane.Spans, Span{Contender: c, From: was.zxid, FromTime: was.time})
			}
		}
		first = last
	}
	return lane
}

func (l *Lane) close(open map[*Life]int, c *Contender, zxid, time int64) {
	if i, ok := open[c.Life]; ok {
		l.Spans[i].To, l.Spans[i].ToTime = zxid, time
		delete(open, c.Life)
	}
}

// search returns where in the queue a contender is, or is to be. Mostly the first one goes, and one comes behind the
// last.
func search(live []*Contender, c *Contender) int {
	switch n := len(live); {
	case n > 0 && live[0] == c:
		return 0
	case n == 0 || order(live[n-1], c) < 0:
		return n
	}
	i, _ := slices.BinarySearchFunc(live, c, order)
	return i
}

// order is the order of a lock's queue. Contenders with exhausted numbers come last, because the counter reached
// those by counting up, so that all others are older. The path decides between contenders that are otherwise equal.
func order(a, b *Contender) int {
	late := func(c *Contender) int {
		if c.exhausted() {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(late(a), late(b)), cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.Kind, b.Kind),
		cmp.Compare(a.Czxid, b.Czxid), cmp.Compare(a.Path, b.Path))
}

// Now puts the contenders that live at one moment into the order of their queue, and returns which of them are eligible
// if none was before.
func Now(live []*Contender, rule Rule) (eligible []bool) {
	slices.SortFunc(live, order)
	eligible = make([]bool, len(live))
	rule(live, eligible, len(live))
	return eligible
}

// At returns the spans of the contenders that were eligible after the transaction with zxid.
func (l *Lane) At(zxid int64) []Span {
	var all []Span
	for _, s := range l.Spans {
		if s.From > zxid {
			break
		}
		if s.To == 0 || zxid < s.To {
			all = append(all, s)
		}
	}
	return all
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
