package evidence

import (
	"math"
	"slices"
	"time"

	"locklab/harness/check/spans"
	"locklab/harness/history"
)

// An Unserved is a time in which servers that were up did not serve in one way, by the looks at them.
type Unserved struct {
	Lack    history.Lack
	Servers []string       // those that did not serve
	Looks   []history.Look // at least one
}

// Unserveds returns the times in which servers did not serve. A look after which the ensemble had committed something
// ends one that says that it commits nothing.
func Unserveds(looks []history.Look) []Unserved {
	var all []Unserved
	going := false
	for _, l := range looks {
		lack, servers := l.Lack()
		if lack == "" {
			going = false
			continue
		}
		if n := len(all) - 1; going && all[n].Lack == lack && slices.Equal(all[n].Servers, servers) &&
			(lack != history.CommitsNothing || all[n].Last().Zxid() == l.Zxid()) {
			all[n].Looks = append(all[n].Looks, l)
			continue
		}
		all = append(all, Unserved{Lack: lack, Servers: servers, Looks: []history.Look{l}})
		going = true
	}
	return all
}

func (u *Unserved) Last() *history.Look { return &u.Looks[len(u.Looks)-1] }

// Lasted is how long it lasted for certain: between the first and the last of the looks.
func (u *Unserved) Lasted() time.Duration { return time.Duration(u.Last().At - u.Looks[0].At) }

// Unserved are the times in which servers that were up did not serve, each from the last time that they served a
// client, and those in which all servers of an ensemble elsewhere kept writes of the harness waiting. Nothing is
// demanded of a lock then. They are found once for all checks, which must not change them.
func (d *Digest) Unserved() []spans.Span {
	return d.unserved.of(func() []spans.Span { return d.UnservedFor(func(string) bool { return true }) })
}

// UnservedFor are those of the times in which all servers did not serve, or one of those that were used.
func (d *Digest) UnservedFor(used func(server string) bool) []spans.Span {
	all := d.Events.Looks()
	var times []spans.Span
	for _, u := range Unserveds(all) {
		one := u.Lack == history.ServesNobody || u.Lack == history.NeverCatchesUp
		if !one || slices.ContainsFunc(u.Servers, used) {
			times = append(times, spans.Span{From: d.lastServed(u.Looks[0].At), Until: min(ServedAfter(&u, all), d.End)})
		}
	}
	return append(times, d.unanswered()...)
}

// unanswered are the times in which each server of an ensemble elsewhere kept a write of the harness waiting for at
// least a tick, or did not carry it out.
func (d *Digest) unanswered() []spans.Span {
	slow := map[string][]spans.Span{}
	for _, e := range d.Events.Of(history.OpPing) {
		p := e.Ping()
		all := slow[p.Server]
		if e.Kind == history.Fail || p.Took >= Standstill(d.Facts.Tick) {
			all = append(all, spans.Span{From: e.At - int64(p.Took), Until: e.At})
		}
		slow[p.Server] = all
	}
	var common spans.List
	for i, server := range SortedKeys(slow) {
		of := spans.Merged(slow[server])
		if i == 0 {
			common = of
			continue
		}
		var both []spans.Span
		for _, s := range of {
			both = slices.AppendSeq(both, common.Cut(s.From, s.Until))
		}
		common = both
	}
	return common
}

// ServedAfter is when the servers were first seen to serve after a lack of service, the end of time if they were not.
func ServedAfter(u *Unserved, seen []history.Look) int64 {
	for _, l := range seen {
		if l.At > u.Last().At && l.Serves() {
			return l.At
		}
	}
	return math.MaxInt64
}

// lastServed is the last instant before another at which the servers had committed something for a client: it had its
// place in a queue, a lock, or its release. It is the run's beginning if there is none.
func (d *Digest) lastServed(before int64) int64 {
	var last int64
	note := func(at int64) {
		if at <= before {
			last = max(last, at)
		}
	}
	for i := range d.Acquisitions {
		a := &d.Acquisitions[i]
		note(a.Queued)
		if a.Granted() {
			note(a.Returned)
		}
		if a.ReleaseOutcome == history.OK {
			note(a.ReleaseReturned)
		}
	}
	return last
}
