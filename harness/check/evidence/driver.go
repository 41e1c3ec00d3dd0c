package evidence

import (
	"cmp"
	"slices"
	"time"

	"locklab/harness/check/spans"
	"locklab/harness/history"
)

// The driver of a foreign lock is a process beside the client's. Pings show when it stood still. One that declares no
// pings may have done so in any time in which it answered nothing, and then kept no session alive, took no lock and
// told nobody of a loss. So nothing accuses the lock that a single standstill of such a driver explains, unless a
// verified fault explains it already. Standstills of several drivers at once are no accident that is allowed for.

// unseen is the doubt about such a driver.
const unseen = "but the driver may have stood still, which nobody sees unless it declares pings"

// Unwatched names what explains such a doubt.
const Unwatched = "a standstill of a driver that declares no pings"

// UnlessStood is the same doubt about a finding, for the end of its text.
const UnlessStood = ", " + unseen

// Unseen reports whether nothing explains it but a standstill of a driver that declares no pings, which is a doubt.
func (x Explanation) Unseen() bool { return x.doubt == unseen }

// UnseenUntil is the doubt about a client that its driver has told nothing by an instant.
func UnseenUntil(at int64) Explanation {
	x := suspected(nil, "nothing else explains it", unseen)
	x.Told = at
	return x
}

// unwatched returns the drivers that greeted without pings, by the client process that started them.
func unwatched(events *history.Log) map[string]history.Driver {
	all := map[string]history.Driver{}
	for _, e := range events.Of(history.OpDriver) {
		if driver := e.Driver(); !driver.Pings() {
			all[e.Process] = driver
		}
	}
	return all
}

// Driver names the process that drives a's lock: a client, or a client process that has one driver for all its
// clients. It is empty if pings watched that driver, or if the lock is locklab's own.
func (d *Digest) Driver(a *history.Acquisition) string { return d.driverOf(a.Process, a.Client) }

func (d *Digest) driverOf(process, client string) string {
	switch driver, is := d.unwatched[process]; {
	case !is:
		return ""
	case driver.Shared():
		return process
	}
	return client
}

// leastIdle is shorter than any standstill that counts. A run has millions of answers, most of which follow each other
// faster than that.
const leastIdle = int64(20 * time.Millisecond)

// idle are the times from one answer of a's driver to the next. It is empty where a has no [Digest.Driver].
func (d *Digest) idle(a *history.Acquisition) spans.List {
	driver := d.Driver(a)
	if driver == "" {
		return nil
	}
	return d.idles.Of(func() map[string]spans.List {
		all := map[string]spans.List{}
		for driver, answers := range d.answers() {
			slices.Sort(answers)
			var idle spans.List
			for i, at := range append(answers, d.End)[1:] {
				if answers[i]+leastIdle < at {
					idle = append(idle, spans.Span{From: answers[i], Until: at})
				}
			}
			all[driver] = idle
		}
		return all
	})[driver]
}

// answers returns when drivers answered, by [Digest.Driver]. An outcome that is not known is none: the client gave up,
// or the driver had come to its end.
func (d *Digest) answers() map[string][]int64 {
	all := map[string][]int64{}
	note := func(driver string, answers ...int64) {
		for _, at := range answers {
			if driver != "" && at != history.None {
				all[driver] = append(all[driver], at)
			}
		}
	}
	greeted := map[string]int64{}
	for _, e := range d.Events.Of(history.OpDriver) {
		greeted[e.Process] = e.At
	}
	for i := range d.Acquisitions {
		a := &d.Acquisitions[i]
		driver := d.Driver(a)
		if all[driver] == nil {
			note(driver, greeted[a.Process])
		}
		note(driver, a.Queued, a.Lost)
		if a.Outcome != history.Info {
			note(driver, a.Returned)
		}
		if a.ReleaseOutcome != history.Info {
			note(driver, a.ReleaseReturned)
		}
	}
	for _, e := range d.Events.Of(history.OpConnected, history.OpDisconnected, history.OpExpired) {
		note(d.driverOf(e.Process, e.Client), e.At)
	}
	return all
}

// PerhapsStood is the longest time between two instants in which a's driver may have stood still unseen. It is no
// longer than a session outlives, if a's session did by the servers' logs.
func (d *Digest) PerhapsStood(a *history.Acquisition, from, until int64) (longest spans.Span) {
	for part := range d.idle(a).Cut(from, until) {
		if part.Lasts() > longest.Lasts() {
			longest = part
		}
	}
	if most := int64(d.expiry(d.Timeout(a.Session)).Latest()) + d.Slack(); longest.Lasts() > most && d.lived(a, until) {
		longest.From = longest.Until - most
	}
	return longest
}

// AwakeAfter is when a's driver cannot have stood still any more since an instant: it answered, or it was watched.
func (d *Digest) AwakeAfter(a *history.Acquisition, at int64) int64 {
	for s := range d.idle(a).Meeting(at, at+1) {
		return s.Until
	}
	return at
}

// toldUnseen is by when a client must have learned of the end of its session if its driver stood still: see
// [Digest.ToldBy]. The driver may do so once more.
func (d *Digest) toldUnseen(a *history.Acquisition, since int64) int64 {
	_, by := d.ToldBy(a, since)
	return Later(by, d.PerhapsStood(a, since, d.BelievedUntil(a)).Lasts())
}

// lived reports whether the servers' logs say that a's session had not ended by an instant.
func (d *Digest) lived(a *history.Acquisition, at int64) bool {
	session := cmp.Or(a.Session, d.SessionAt(a.Client, at))
	if !d.Transactions.Whole() || d.Transactions.History.Sessions[int64(session)] == nil {
		return false
	}
	end := d.SessionEnd(session)
	return end == nil || d.Transactions.Clock.At(end.Time)-d.Transactions.Clock.Err > at
}

// unseenLoss is the doubt that one of two holders lost its session to the other because its driver stood still unseen;
// else it is x.
func (d *Digest) unseenLoss(first, second *history.Acquisition, x Explanation) Explanation {
	for _, y := range []Explanation{d.Outage(first, second.Returned), d.Outage(second, first.Returned)} {
		if y.Unseen() {
			return y
		}
	}
	return x
}

// MayHaveExpired reports whether a's session may have expired by an instant because its driver stood still unseen.
func (d *Digest) MayHaveExpired(a *history.Acquisition, by int64) bool {
	return !d.lived(a, by) && d.Outage(a, by).Unseen()
}
