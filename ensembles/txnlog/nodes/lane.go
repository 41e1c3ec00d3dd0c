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
	Contender
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
	contender  int
	comes      bool
}

// changes returns what the lane's contenders did, in the order of transactions. In one transaction, contenders go
// before others come.
func (l *Lane) changes() []change {
	all := make([]change, 0, 2*len(l.Contenders))
	for i, c := range l.Contenders {
		if c.End != nil && c.End.Zxid == c.Czxid {
			continue
		}
		all = append(all, change{c.Czxid, c.Created, i, true})
		if c.End != nil {
			all = append(all, change{c.End.Zxid, c.End.Time, i, false})
		}
	}
	slices.SortFunc(all, func(a, b change) int {
		if a.zxid == b.zxid && a.comes != b.comes {
			if b.comes {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.zxid, b.zxid), cmp.Compare(a.contender, b.contender))
	})
	return all
}

// Lane applies a rule to one lock's contenders after each transaction that created or deleted one. A znode that is
// created and deleted within one transaction is never eligible.
func (h *History) Lane(contends Selector, rule Rule) *Lane {
	lane := &Lane{}
	for _, l := range h.Lives {
		if place, ok := contends(l.Path); ok {
			lane.Contenders = append(lane.Contenders, Contender{l, place})
		}
	}
	var (
		live     []Contender
		eligible []bool
		open     = map[*Life]int{} // index of the span that has not ended
		first    = 0               // how many contenders at the head of the queue may be, or may have been, eligible
	)
	changes := lane.changes()
	for n := range changes {
		now := &changes[n]
		c := lane.Contenders[now.contender]
		i, _ := slices.BinarySearchFunc(live, c, order)
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
		if n+1 < len(changes) && changes[n+1].zxid == now.zxid {
			continue
		}
		first = min(first, len(live))
		may := max(first, rule(live, eligible, first))
		last := 0
		for i, c := range live[:may] {
			if !eligible[i] {
				lane.close(open, c, now.zxid, now.time)
				continue
			}
			last = i + 1
			if _, is := open[c.Life]; !is {
				open[c.Life] = len(lane.Spans)
				lane.Spans = append(lane.Spans, Span{Contender: c, From: now.zxid, FromTime: now.time})
			}
		}
		first = last
	}
	return lane
}

func (l *Lane) close(open map[*Life]int, c Contender, zxid, time int64) {
	if i, ok := open[c.Life]; ok {
		l.Spans[i].To, l.Spans[i].ToTime = zxid, time
		delete(open, c.Life)
	}
}

// order is the order of a lock's queue. Contenders with exhausted numbers come last, because the counter reached
// those by counting up, so that all others are older. The path decides between contenders that are otherwise equal.
func order(a, b Contender) int {
	late := func(c Contender) int {
		if c.exhausted() {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(late(a), late(b)), cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.Kind, b.Kind),
		cmp.Compare(a.Czxid, b.Czxid), cmp.Compare(a.Path, b.Path))
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
