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

// Lane applies a rule to one lock's contenders after each transaction that created or deleted one. A znode that is
// created and deleted within one transaction is never eligible.
func (h *History) Lane(contends Selector, rule Rule) *Lane {
	lane := &Lane{}
	come, gone := map[int64][]Contender{}, map[int64][]Contender{}
	times := map[int64]int64{}
	for _, l := range h.Lives {
		place, ok := contends(l.Path)
		if !ok {
			continue
		}
		c := Contender{l, place}
		lane.Contenders = append(lane.Contenders, c)
		if l.End != nil && l.End.Zxid == l.Czxid {
			continue
		}
		come[l.Czxid] = append(come[l.Czxid], c)
		times[l.Czxid] = l.Created
		if l.End != nil {
			gone[l.End.Zxid] = append(gone[l.End.Zxid], c)
			times[l.End.Zxid] = l.End.Time
		}
	}
	var (
		live     []Contender
		eligible []bool
		open     = map[*Life]int{} // index of the span that has not ended
	)
	for _, zxid := range slices.Sorted(maps.Keys(times)) {
		for _, c := range gone[zxid] {
			i, _ := slices.BinarySearchFunc(live, c, order)
			live, eligible = slices.Delete(live, i, i+1), slices.Delete(eligible, i, i+1)
			lane.close(open, c, zxid, times[zxid])
		}
		for _, c := range come[zxid] {
			i, _ := slices.BinarySearchFunc(live, c, order)
			live, eligible = slices.Insert(live, i, c), slices.Insert(eligible, i, false)
		}
		rule(live, eligible)
		for i, c := range live {
			if _, is := open[c.Life]; !eligible[i] {
				lane.close(open, c, zxid, times[zxid])
			} else if !is {
				open[c.Life] = len(lane.Spans)
				lane.Spans = append(lane.Spans, Span{Contender: c, From: zxid, FromTime: times[zxid]})
			}
		}
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
