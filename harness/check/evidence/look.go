package evidence

import (
	"math"
	"slices"

	"locklab/harness/check/service"
	"locklab/harness/check/spans"
	"locklab/harness/history"
)

// Unserveds returns the times in which servers did not serve, by the looks at them. Checks must not change them.
func (d *Digest) Unserveds() []service.Unserved {
	return d.looked.Of(func() []service.Unserved { return service.Unserveds(d.Events.Looks(), d.apart) })
}

// apart reports whether servers that lacked service at two looks, one after the other, may have served in between:
// somebody was granted or released a lock for which he had asked meanwhile, or the leader that there was not prepared a
// transaction. Or a fault of a server began or ended, so that nobody looked. Those that had not committed anything from
// one look to the other served nobody.
func (d *Digest) apart(lack history.Lack, from, until int64) bool {
	if lack == history.CommitsNothing {
		return false // else their last transaction is another one
	}
	if slices.ContainsFunc(d.Faults, func(f *Fault) bool {
		began, over := f.Began(), f.Until()
		return f.Possible() && !d.OnlyClients(f) && (from < began && began < until || from < over && over < until)
	}) {
		return true
	}
	if service.OfSome(lack) {
		return false
	}
	if d.firstServed(from, true) <= until {
		return true
	}
	t := d.Transactions
	return t.Whole() && service.LastBefore(t.History, t.Clock.At, until-t.Clock.Err-1) > from+t.Clock.Err
}

// Unserved are the times in which servers that were up may not have served, each from the last time that they served a
// client, and those in which all servers of an ensemble elsewhere kept writes of the harness waiting. Nothing is
// demanded of a lock then. Those for certain are shorter, see [Digest.UnservedFor]. They are found once for all checks,
// which must not change them.
func (d *Digest) Unserved(certain bool) []spans.Span {
	return d.unserved.Of(certain, func() []spans.Span {
		return d.UnservedFor(func(string) bool { return true }, certain)
	})
}

// UnservedFor are those of the times in which all servers did not serve, or one of those that were used. For certain,
// none begins earlier than the first look at it allows, which would have been made sooner, nor before a transaction of
// the servers' logs; and none lasts for longer after the last look than until the next one was due.
func (d *Digest) UnservedFor(used func(server string) bool, certain bool) []spans.Span {
	const unseen = int64(service.LookAfter + service.LookEvery + service.LookCap)
	var times []spans.Span
	for _, u := range d.Unserveds() {
		if u.Some() && !slices.ContainsFunc(u.Servers, used) {
			continue
		}
		s := d.unservedTime(&u)
		if certain {
			first, last := u.Looks[0].At, u.Last().At
			s.From, s.Until = max(s.From, first-unseen), min(s.Until, last+unseen)
			if t := d.Transactions; t.Whole() && !u.Some() {
				s.From = max(s.From, service.LastBefore(t.History, t.Clock.At, first))
			}
		}
		times = append(times, s)
	}
	return append(times, service.Unanswered(d.Events, Standstill(d.Facts.Tick))...)
}

// unservedTime is the time in which servers may not have served as some looks say.
func (d *Digest) unservedTime(u *service.Unserved) spans.Span {
	until := min(service.ServedAfter(u, d.Events.Looks()), d.End)
	if served := d.firstServed(u.Last().At, false); !u.Some() && served <= u.Next {
		until = min(until, served)
	}
	return spans.Span{From: d.lastServed(u.Looks[0].At), Until: until}
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

// firstServed is the first instant after another by which the servers had carried out what a client had asked for
// since: it was granted a lock or, if releases count, had released one. Some libraries answer a release without asking
// the servers. It is the end of time if there is none.
func (d *Digest) firstServed(since int64, releases bool) int64 {
	first := int64(math.MaxInt64)
	for i := range d.Acquisitions {
		a := &d.Acquisitions[i]
		if a.Granted() && a.Invoked >= since {
			first = min(first, a.Returned)
		}
		if releases && a.ReleaseOutcome == history.OK && a.ReleaseInvoked >= since {
			first = min(first, a.ReleaseReturned)
		}
	}
	return first
}
