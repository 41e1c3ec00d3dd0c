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

// A Span is a time in which a contender was eligible: from the transaction that made it so to
// the one that ended it, which is mostly the end of its life.
type Span struct {
	Contender
	From, To         int64 // zxids; To is 0 if it is eligible still
	FromTime, ToTime int64 // ms
}

// A Lane is who was eligible for one lock: the server-held lane.
type Lane struct {
	// Contenders are in the order of creation.
	Contenders []Contender
	// Spans are in the order in which they begin. Those of one contender do not touch.
	Spans []Span
}

// Lane judges one lock's contenders after each transaction that created or ended one. What comes and goes within
// one transaction is never eligible.
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

// order is that of a queue. Contenders whose numbers are exhausted come last: the counter reached
// those by counting up, so all others are older. The path tells apart what is equal otherwise.
func order(a, b Contender) int {
	late := func(c Contender) int {
		if c.exhausted() {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(late(a), late(b)), cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Czxid, b.Czxid), cmp.Compare(a.Path, b.Path))
}

// At returns the spans of those who were eligible as the transaction of zxid left things.
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
